"""A question of a viewer, and what the viewer may see."""
