"""From a request to a view or an action and back: routes, sign-in, headers, events."""
