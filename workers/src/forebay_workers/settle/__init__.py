"""The end of a message: acknowledged, tried again, buried, handed back."""
