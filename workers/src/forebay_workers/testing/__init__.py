"""``TestApp``: an app under test, without a server and with a virtual clock."""
