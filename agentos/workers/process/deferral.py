"""Import a module of a package without running the package's own `__init__`."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

UNUSED = ("langgraph_sdk", "langsmith.types")
"""Packages of which the graph library needs one class each; loading them in full would
import 286 more modules.
"""


def defer(package: str) -> None:
    """Delay the `__init__` of a package until one of its attributes is used; its modules
    can be imported before.
    """
    spec = find_spec(package)
    if package in sys.modules or spec is None or spec.loader is None:
        return
    loader, module = spec.loader, module_from_spec(spec)

    def load(name: str) -> Any:
        del vars(module)["__getattr__"]
        loader.exec_module(module)
        return getattr(module, name)

    vars(module)["__getattr__"] = load
    sys.modules[package] = module
