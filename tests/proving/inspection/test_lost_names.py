"""Public names that a change takes away are found; honest moves are left alone."""

from __future__ import annotations

import pytest

from agentos.proving.inspection import lost_names

BASE = """\
def add(a, b):
    return a + b


def _inner():
    pass


class Shelf:
    def take(self):
        pass

    def _hidden(self):
        pass
"""
WITHOUT_ADD = BASE.partition("\n\n\n")[2]
WITHOUT_TAKE = BASE.replace("def take", "def _take")


def lost(text: str, design: str = "", path: str = "shop/shelf.py") -> list[str]:
    problems = lost_names(text, path, BASE, design)
    return [problem.text.split("`")[1] for problem in problems]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (BASE, []),
        (WITHOUT_ADD, ["add"]),
        (WITHOUT_TAKE, ["Shelf.take"]),
        ("", ["add", "Shelf", "Shelf.take"]),
        (BASE.replace("_inner", "_other").replace("_hidden", "_other"), []),
        (f"from shop.sums import add\n{WITHOUT_ADD}", []),
        (f"from shop.sums import plus as add\n{WITHOUT_ADD}", []),
        (f"{WITHOUT_ADD}\n\nadd = sum\n", []),
        ("def broken(", []),
    ],
)
def test_what_is_gone_is_named(text: str, names: list[str]) -> None:
    assert lost(text) == names


def test_what_the_design_names_and_private_modules_are_left_alone() -> None:
    assert lost(WITHOUT_ADD, "`add` is removed.") == []
    assert lost(WITHOUT_ADD, "An address is removed.") == ["add"]
    assert lost(WITHOUT_ADD, path="shop/_shelf.py") == []
    assert lost(WITHOUT_ADD, path="shop/__init__.py") == ["add"]
    assert lost_names(WITHOUT_ADD, "shop/shelf.py", None, "") == []
