"""Load an App from ``module:name``; an error is one sentence with the reason."""

from __future__ import annotations

import importlib
import sys
import traceback

from forebay_workers.app import App
from forebay_workers.errors import ConfigError


def load(place: str) -> App:
    """Import the app; modules of the current folder come first."""
    module, colon, name = place.partition(":")
    if not (module and colon and name):
        raise ConfigError(f"{place!r} does not name an app. Write module:name, as in shop:app.")
    sys.path.insert(0, "")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module + ".").startswith(error.name + "."):
            raise ConfigError(
                f"There is no module {module!r} here. Go to its folder, or set PYTHONPATH."
            ) from None
        raise ConfigError(f"{module} needs {error.name!r}, which is not installed.") from None
    except Exception as error:  # noqa: BLE001 - a module may raise anything
        sys.stderr.write(traceback.format_exc())
        raise ConfigError(f"{module} cannot be imported: {error!r}") from None
    app = getattr(found, name, None)
    if not isinstance(app, App):
        raise ConfigError(f"{place} is not an App. Name the object that App(...) made.")
    return app
