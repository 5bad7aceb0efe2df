"""Every hop of the architecture page leads to the code that it names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support import ROOT

PAGE = ROOT / "docs" / "architecture.md"
HOP = re.compile(r"\[`([^`]+)`\]\(([^)]+\.py)\)")
HOPS = sorted(set(HOP.findall(PAGE.read_text("utf-8"))))


def names_in(module: Path) -> set[str]:
    """Return what a module defines or exports at its top level."""
    names: set[str] = set()
    for node in ast.parse(module.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom) and module.name == "__init__.py":
            names.update(alias.name for alias in node.names)
    return names


def test_the_page_has_hops() -> None:
    assert len(HOPS) > 30


@pytest.mark.parametrize(("name", "target"), HOPS)
def test_a_hop_names_what_its_module_defines(name: str, target: str) -> None:
    module = (PAGE.parent / target).resolve()
    assert module.is_file()
    assert name in names_in(module)
