"""From a request to a view or a deed and back: routes, sign-in, headers, events."""
