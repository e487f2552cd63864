"""Keys of any type, and the operations that the commands of all types share."""
