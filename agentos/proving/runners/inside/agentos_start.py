"""Start pytest as `python -m pytest` does, but load the reporter before the tests.

`python -m pytest` looks for its own modules in the repository first. A file there that
is called `hmac.py` would be loaded into the code that seals the report, and so could
write any report. Here nothing can be imported from the repository until pytest is
loaded, the reporter has taken its key, and its hooks are the first of all. The garbage
collector is off during that time, which saves a quarter of it.
"""

# ruff: noqa: PTH109, PTH113, PTH118 - as few modules as possible are loaded before the
# repository is importable.

from __future__ import annotations

import gc
import os
import sys

PLACES = "AGENTOS_PLACES"
"""The variable with the folders, next to the repository itself, from which its code is
imported.

They cannot be in PYTHONPATH, where the interpreter would look for its own modules
before this file is read.
"""
RESULTS = "AGENTOS_REPORT_FOLDER"
_RUNNER = ("pytest", "_pytest", "pluggy")
"""A repository that develops one of these is tested with its own version."""
_NEVER_UNLOADED = ("agentos_", *_RUNNER)


class Opening:
    """The hook after those of the reporter: makes the repository importable."""

    def __init__(
        self,
        own: list[str],
        others: list[str],
        loaded_before: set[str],
        children: list[str],
    ) -> None:
        self.own = own
        self.children = children
        self.others = others
        self.loaded_before = loaded_before

    def pytest_addoption(self) -> None:
        """Open the import path, once, when this is registered."""
        own = self.own
        sys.path[:] = own + self.others
        # Processes that tests start, in whatever folder, import the project as if it
        # were installed.
        repository, *folders = own
        folders.append(repository)
        # First, so that what records their lines is loaded before anything else.
        folders = self.children + folders
        os.environ["PYTHONPATH"] = os.pathsep.join(folders)
        loaded = set(sys.modules)
        loaded -= self.loaded_before
        tops = {module.partition(".")[0] for module in loaded}
        for name in tops:
            if name.startswith(_NEVER_UNLOADED):
                continue
            # The repository develops something that pytest needs: its tests must get
            # its own version.
            if _holds(own, name):
                _unload(name)
        gc.enable()


def main() -> int:
    """Load the reporter and run the tests."""
    gc.disable()
    loaded_before = set(sys.modules)
    here, *others = sys.path
    own = [os.getcwd()]
    places = os.environ.pop(PLACES, "")
    folders = places.split(os.pathsep)
    own += filter(None, folders)
    installed = 0
    for folder in others:
        if folder.endswith("-packages"):
            break
        installed += 1
    # The standard library comes first, even before a runner that the repository
    # develops.
    path = [here]
    path += others[:installed]
    develops_runner = any(_holds(own, name) for name in _RUNNER)
    if develops_runner:
        path += own
    path += others[installed:]
    sys.path[:] = path
    children = os.path.join(os.environ.get(RESULTS, ""), "children")
    own_children = filter(os.path.isdir, [children])
    import agentos_pytest_report  # type: ignore[import-not-found]
    import pytest

    sys.argv[0] = "pytest"
    opening = Opening(own, others, loaded_before, list(own_children))
    plugins = [agentos_pytest_report, opening]
    code = pytest.main(plugins=plugins)
    return int(code)


def _unload(name: str) -> None:
    prefix = f"{name}."
    for module in list(sys.modules):
        if f"{module}.".startswith(prefix):
            del sys.modules[module]


def _holds(folders: list[str], name: str) -> bool:
    """Tell whether one of the folders has a module or package of this name."""
    for folder in folders:
        module = os.path.join(folder, name)
        file = f"{module}.py"
        if os.path.isfile(file):
            return True
        package = os.path.join(module, "__init__.py")
        if os.path.isfile(package):
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
