"""Start pytest as `python -m pytest` does, with one difference: what judges the tests is loaded before them.

`python -m pytest` looks for its own modules in the repository first. A file there that is called `hmac.py` would be
loaded into what seals the report, and so could write any report. Here the repository can be imported from only after
pytest and the reporter are there. That the garbage collector does not look at them meanwhile saves a quarter of the
time that loading takes.
"""
# ruff: noqa: PTH109, PTH118 - nothing may be imported, not even `pathlib`, before it is certain where from.

from __future__ import annotations

import gc
import os
import sys

_PARTS = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "colorama")
"""What pytest consists of. A repository that develops one of them is tested with its own, as always."""


def main() -> None:
    """Load what judges the tests, then let pytest take over."""
    folder = os.getcwd()
    # The first is where this file is; the variable for further places names it once more.
    path = [folder, *sys.path[1:]]
    own = [place for place in path if _is_within(place, folder)]
    sys.path[:] = [place for place in path if place not in own]
    import hmac  # noqa: F401
    import json  # noqa: F401
    from runpy import run_module

    if not any(_holds(place, part) for place in own for part in _PARTS):
        _load_judges()
    sys.path[:] = path
    run_module("pytest", run_name="__main__", alter_sys=True)


def _load_judges() -> None:
    gc.disable()
    import agentos_pytest_report  # type: ignore[import-not-found]  # noqa: F401

    if hasattr(gc, "freeze"):
        gc.freeze()
    gc.enable()


def _is_within(place: str, folder: str) -> bool:
    place = os.path.realpath(place)
    return place == folder or place.startswith(os.path.join(folder, ""))


def _holds(place: str, name: str) -> bool:
    return any(map(os.path.isfile, (os.path.join(place, f"{name}.py"), os.path.join(place, name, "__init__.py"))))


if __name__ == "__main__":
    main()
