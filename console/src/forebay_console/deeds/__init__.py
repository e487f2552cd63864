"""What a viewer may do after --write; what takes something away has a preview."""
