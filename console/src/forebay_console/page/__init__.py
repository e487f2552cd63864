"""The page: modules and styles, served as they are; nothing comes from another host."""
