"""Messages to fields and back: plain dicts, dataclasses, structs, and models of pydantic."""
