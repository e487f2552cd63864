"""What a viewer may do with --write; everything that removes something has a preview."""
