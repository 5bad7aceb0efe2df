"""Put off what importing a part of a package would load of the rest of it."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

UNUSED = ("langgraph_sdk", "langsmith.types")
"""Packages of which the graph library needs one class each; with all they would load it is 286 modules more."""


def defer(package: str) -> None:
    """Let modules of a package be imported without the package's own, which is loaded when something is asked of it."""
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
