"""Protected mode: a server without a password serves only clients on its own machine.

A server with a public address and no password is a mistake, often of a user who tries
it out; the text tells them what to do.
"""

from __future__ import annotations

from forebay.commands.admin.local_only import is_local_address

#: Redis's own words: tools look for them.
DENIED = (
    b"-DENIED Redis is running in protected mode because protected mode is enabled and no "
    b"password is set for the default user. In this mode connections are only accepted from the "
    b"loopback interface. If you want to connect from external computers to Redis you may adopt "
    b"one of the following solutions: 1) Just disable protected mode sending the command 'CONFIG "
    b"SET protected-mode no' from the loopback interface by connecting to Redis from the same "
    b"host the server is running, however MAKE SURE Redis is not publicly accessible from "
    b"internet if you do so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively "
    b"you can just disable the protected mode by editing the Redis configuration file, and "
    b"setting the protected mode option to 'no', and then restarting the server. 3) If you "
    b"started the server manually just for testing, restart it with the '--protected-mode no' "
    b"option. 4) Setup a an authentication password for the default user. NOTE: You only need to "
    b"do one of the above things in order for the server to start accepting connections from the "
    b"outside.\r\n"
)


def is_local(peer: str) -> bool:
    """Whether a peer, as CLIENT LIST prints it, is this machine; a unix socket always is."""
    return is_local_address(peer.encode("utf-8", "surrogateescape"))
