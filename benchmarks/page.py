"""Render results as the page docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Data = Mapping[str, Any]

HEAD = """\
# Benchmarks

Written by `python -m benchmarks`. {machine}; {date}.

Every figure is measured together with an alternative, in the same run on the same machine. Look at the ratio, because
seconds depend on the machine. Smaller is always better, and a ratio below 1 means that AgentOS needs less than the
alternative. To measure again, run this from the root of the repository, on an otherwise idle machine:

    .venv/bin/python -m benchmarks              all of them, and write this page again; about {minutes} minutes
    .venv/bin/python -m benchmarks makespan     some of them, without writing the page
    .venv/bin/python -m benchmarks.makespan     one of them, as JSON with all its facts

This needs the development dependencies, `xargs`, and GNU parallel for some of the comparisons.

"""
TABLE = """\
| figure | target | measured | instead | ratio | met |
|---|---|---|---|---|---|
"""


def render_page(
    results: Mapping[str, Data], machine: str, date: str, minutes: int
) -> str:
    """Return the page: one table of all figures, then what each compares."""
    head = HEAD.format(machine=machine, date=date, minutes=minutes)
    rows = [
        render_row(figure) for data in results.values() for figure in data["figures"]
    ]
    parts = [render_method(name, data) for name, data in results.items()]
    return head + TABLE + "".join(rows) + "\n## What is measured\n\n" + "\n".join(parts)


def render_table(results: Sequence[Data]) -> str:
    """Return the table alone."""
    return TABLE + "".join(
        render_row(figure) for data in results for figure in data["figures"]
    )


def render_row(figure: Data) -> str:
    """Return one figure as a row."""
    unit = figure["unit"]
    peer = (
        f"{_number(figure['peer'])} {unit} ({figure['compared_with']})"
        if figure["peer"] is not None
        else ""
    )
    target = (
        f"{_number(figure['target'])} {unit}" if figure["target"] is not None else ""
    )
    measured = f"{_number(figure['measured'])} {unit}" + (
        f" ({figure['note']})" if figure["note"] else ""
    )
    ratio = _number(figure["ratio"]) if figure["ratio"] is not None else ""
    met = {True: "yes", False: "**no**", None: ""}[figure["met"]]
    cells = (figure["name"], target, measured, peer, ratio, met)
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n"


def render_method(name: str, data: Data) -> str:
    """Return what a benchmark asks and how it finds the answer."""
    facts = "".join(
        f"- {key.replace('_', ' ')}: {_fact(value)}\n"
        for key, value in data["facts"].items()
    )
    return f"### {name}\n{data['question']}\n\n{data['method']}\n" + (
        f"\n{facts}" if facts else ""
    )


def _number(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _fact(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key.replace('_', ' ')} {_fact(inner)}" for key, inner in value.items()
        )
    if isinstance(value, list):
        return " / ".join(_fact(inner) for inner in value)
    return str(value)
