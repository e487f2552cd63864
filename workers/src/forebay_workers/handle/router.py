"""Which handler of a stream gets a message: the only one, or the one for its ``@type``."""

from __future__ import annotations

from forebay_workers.errors import ConfigError, MisfitError
from forebay_workers.handle.handler import ANY, Handler, unknown_type
from forebay_workers.message import TYPE, Message


class Router:
    """The handlers of one stream."""

    def __init__(self) -> None:
        self.handlers: list[Handler] = []
        self._by_tag: dict[bytes, Handler] = {}

    def add(self, stream: str, handler: Handler) -> None:
        """Add a handler; its types must differ from those of the other handlers."""
        for tag in handler.decoders:
            if tag in self._by_tag:
                other = self._by_tag[tag].name
                raise ConfigError(
                    f"{other} and {handler.name} both want the same messages of {stream!r}. "
                    "Let them take different types."
                )
            self._by_tag[tag] = handler
        self.handlers.append(handler)

    def choose(self, message: Message) -> Handler:
        """The handler for a message; MisfitError if there is none."""
        if len(self.handlers) == 1:
            return self.handlers[0]
        tag = message.header(TYPE)
        found = self._by_tag.get(tag or ANY) or self._by_tag.get(ANY)
        if found is None:
            raise MisfitError(unknown_type(tag, self._by_tag))
        return found
