"""Call a build backend, as PEP 517 describes it, in the sandbox.

The working directory is the project. The request names the backend and the requirements
that are installed; the answer names the wheel, or the requirements that are missing.
"""

# ruff: noqa: PTH118 - it runs on every Python that a project may ask for, so
# that it uses as little as possible.

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any


def main() -> None:
    """Build the wheel of the project in the working directory."""
    results = sys.argv[1]
    question = os.path.join(results, "request.json")
    with open(question, encoding="utf-8") as file:
        request = json.load(file)
    # The folder of this file comes first, and a backend must not find anything there.
    sys.path[:1] = request["path"]
    backend = _find(request["backend"])
    required = set(_required(backend))
    missing = required.difference(request["installed"])
    wheel = ""
    if not missing:
        wheel = backend.build_wheel(results)
    answer = {
        "missing": sorted(missing),
        "wheel": wheel,
    }
    target = os.path.join(results, "answer.json")
    with open(target, "w", encoding="utf-8") as file:
        json.dump(answer, file)


def _find(name: str) -> Any:
    module, _, attributes = name.partition(":")
    backend: Any = importlib.import_module(module)
    if not attributes:
        return backend
    for attribute in attributes.split("."):
        backend = getattr(backend, attribute)
    return backend


def _required(backend: Any) -> list[str]:
    ask = getattr(backend, "get_requires_for_build_wheel", None)
    if ask is None:
        return []
    return list(ask())


if __name__ == "__main__":
    main()
