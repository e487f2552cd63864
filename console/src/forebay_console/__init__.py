"""The console: a page in the browser over the streams of a Forebay, Redis or Valkey.

    browser <--JSON, events--> web/     routes, sign-in, headers
                                |
              views/, actions/  |       answers and actions; each asks as the viewer's user
              asking/           |       one question, and what its viewer may see
              metrics/          |       the same facts for Prometheus
                                |
                watch/          |       one poller for all viewers: names, facts, rates, curves
                                v
                servers/ --> the server

Rules:

- A hundred open pages cost the server no more than one: live figures come from ``watch``, and only
  a viewer's own question is sent to the server, as that viewer's user.
- A value that a server cannot report is None here and "unknown" on the page, never 0.
- An entry may hold anything and be of any size: everything that is sent is escaped, and cut.
"""
