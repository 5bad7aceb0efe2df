"""Start pytest as `python -m pytest` does, with one difference: what judges the tests is in place before them.

`python -m pytest` looks for its own modules in the repository first. A file there that is called `hmac.py` would be
loaded into what seals the report, and so could write any report. Here nothing can be imported from the repository
until pytest is loaded, the reporter has taken its key, and its hooks are the first of all. That the garbage collector
does not look at any of it meanwhile saves a quarter of the time.
"""
# ruff: noqa: PTH109, PTH113, PTH118 - what is loaded before the repository may be is kept to what is needed.

from __future__ import annotations

import gc
import os
import sys

PLACES = "AGENTOS_PLACES"
"""Names the variable with the places, beside the repository itself, that its code is imported from.

They cannot be in PYTHONPATH, where the interpreter would look for its own modules before this file is read."""
_RUNNER = ("pytest", "_pytest", "pluggy")
"""What a repository that develops it is tested with; of all else, pytest uses what is installed."""


class Opening:
    """The last of the first hooks: lets the repository be imported."""

    def __init__(self, own: list[str], others: list[str], loaded_before: set[str]) -> None:
        self.own = own
        self.others = others
        self.loaded_before = loaded_before

    def pytest_addoption(self) -> None:
        """Give the way free, once, when this is registered."""
        sys.path[:] = [*self.own, *self.others]
        if self.own[1:]:
            os.environ["PYTHONPATH"] = os.pathsep.join(self.own[1:])
        for name in {module.partition(".")[0] for module in set(sys.modules) - self.loaded_before}:
            # Something that pytest needs is what the repository develops: its tests are to get its own.
            if not name.startswith(("agentos_", *_RUNNER)) and _holds(self.own, name):
                for module in [module for module in sys.modules if f"{module}.".startswith(f"{name}.")]:
                    del sys.modules[module]
        gc.enable()


def main() -> int:
    """Load what judges the tests, and run them."""
    gc.disable()
    loaded_before = set(sys.modules)
    here, *others = sys.path
    own = [os.getcwd(), *filter(None, os.environ.pop(PLACES, "").split(os.pathsep))]
    develops_runner = any(_holds(own, name) for name in _RUNNER)
    installed = next((place for place, path in enumerate(others) if path.endswith("-packages")), len(others))
    # The standard library comes first even then.
    sys.path[:] = [here, *others[:installed], *(own if develops_runner else ()), *others[installed:]]
    import agentos_pytest_report  # type: ignore[import-not-found]
    import pytest

    sys.argv[0] = "pytest"
    return int(pytest.main(plugins=[agentos_pytest_report, Opening(own, others, loaded_before)]))


def _holds(places: list[str], name: str) -> bool:
    files = (f"{name}.py", os.path.join(name, "__init__.py"))
    return any(os.path.isfile(os.path.join(place, file)) for place in places for file in files)


if __name__ == "__main__":
    sys.exit(main())
