"""The map of a Python module has its interfaces, and no source text can break it."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.repository.context import python_map

MODULE = '''\
"""Lend things.

More about it.
"""
from __future__ import annotations

import json
import shelf.items
from shelf.members import Member, find
from . import near

LIMIT: int = 14
NAMES = ["a", "b", "c", "d", "e"]
TEXT = "x" * 3

if json:
    def guarded() -> None: ...

@final
class Desk(Base, Generic[T], metaclass=Meta):
    """Where things are lent."""

    days: int = 7
    table = {"a": 1, "b": 2}

    class Inner:
        pass

    @property
    def is_open(self) -> bool:
        """Tell whether it is open."""
        return True

    async def lend(
        self, item: "Item", /, who: Member | None = None, *rest: int, days=14, note: str = "-", **more: object
    ) -> dict[str,
        int]:
        """Lend an item.

        Details.
        """

def _private(
    key=lambda x: x, deep=f({"a": 1, "b": [1, 2, 3]}, "a very long argument that makes this call longer than eighty")
): pass
ü: "größe" = "ä"
'''


def test_a_map_has_classes_signatures_constants_and_own_imports() -> None:
    assert (
        python_map(MODULE, frozenset({"shelf"}))
        == '''\
"""Lend things."""
# uses . (near), shelf.items, shelf.members (Member, find)
LIMIT: int = 14
NAMES = [...]
TEXT = "x" * 3
def guarded() -> None
@final
class Desk(Base, Generic[T], metaclass=Meta):  # Where things are lent.
    days: int = 7
    table = {...}
    class Inner:
    @property
    def is_open(self) -> bool  # Tell whether it is open.
    async def lend(self, item: "Item", /, who: Member | None = None, *rest: int, days=14, note: str = "-", \\
**more: object) -> dict[str, int]  # Lend an item.
def _private(key=lambda ..., deep=f(...))
ü: "größe" = "ä"'''.replace("\\\n", "")
    )


def test_source_with_a_syntax_error_gets_a_plain_outline() -> None:
    text = "class A:\n    def f(self, x: int) -> None:\n        return (\n\nasync def g(): ...\nprint 'old'\n"
    assert (
        python_map(text)
        == "class A:\n    def f(self, x: int) -> None:\nasync def g(): ..."
    )


@pytest.mark.parametrize(
    "text",
    [
        "-" * 100_000 + "1",
        "x = a" + ".b" * 60_000,
        "x = " + "(" * 100_000,
        "x = 1" + "+1" * 50_000,
        "if 1:\n pass\n" + "elif 1:\n pass\n" * 10_000,
        "x = " + "9" * 5_000,
        "x = 0x" + "f" * 50_000,
        "x = 1\0",
        "".join(" " * depth + f"class C{depth}:\n" for depth in range(99))
        + " " * 99
        + "pass",
        "def f(" + ", ".join(f"a{n}=({n})" for n in range(5_000)) + "): pass",
        "def f(x: " + "list[" * 150 + "]" * 150 + "): pass",
        "lambda:" * 50_000 + "1",
        "def f(): pass\n" * 20_000,
        "x = '\\d'\n",
        "\ufeffx = 1",
        "\r\r\r",
    ],
)
def test_hostile_source_is_mapped_or_outlined(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mapped = python_map(text)
    assert len(mapped) < 120_000
    assert all(len(line) <= 240 for line in mapped.split("\n"))


@given(st.text() | st.lists(st.sampled_from(MODULE.split("\n"))).map("\n".join))
def test_any_text_has_a_map(text: str) -> None:
    python_map(text)


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_map_of_a_cut_module_never_fails(start: int, end: int) -> None:
    python_map(MODULE[start : len(MODULE) - end])


def test_the_map_of_every_module_of_the_standard_library_names_its_functions() -> None:
    for module in (ast, warnings, pytest):
        with open(str(module.__file__), encoding="utf-8") as file:
            text = file.read()
        mapped = python_map(text)
        names = [
            node.name
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        assert all(f" {name}" in mapped for name in names[:100])
