"""The console: a page in the browser over the streams of a Forebay, Redis or Valkey.

    browser <--JSON, events--> web/     routes, sign-in, headers
                                |
              views/, deeds/    |       what is shown, what is done; each asks as the viewer's user
              asking/           |       one question, and what its viewer may see
              metrics/          |       the same facts for Prometheus
                                |
                watch/          |       one poller for all viewers: names, facts, rates, curves
                                v
                servers/ --> the server

Rules:

- A hundred open pages cost the server no more than one: what changes by itself comes from
  ``watch``, and only what somebody asks for is asked for in his name.
- What a server cannot tell is None here and "unknown" on the page, never 0.
- An entry may hold anything and be of any size: everything that leaves is escaped, and cut.
"""
