"""Change capture: the changes of a table as a stream, and the stream as a lake."""
