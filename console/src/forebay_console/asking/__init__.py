"""A question of a viewer, and what he may see."""
