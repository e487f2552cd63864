"""The page: modules and styles, served as they are; nothing is loaded from another host."""
