"""Write sections 5 and 6 of a design: where data comes from, and how it flows."""

from __future__ import annotations

from agentos.documents.tables import render_table
from agentos.documents.words import code_spans, figures, keywords, stem
from agentos.providers.offline.blueprint import Blueprint
from agentos.providers.offline.drawing import draw
from agentos.providers.offline.proofs import shorten


def write_data(blueprint: Blueprint) -> str:
    """Return section 5."""
    places = _places(blueprint)
    rows = [("Source", ", ".join(f"`{place}`" for place in places) or _stored(blueprint))]
    rows += [
        ("Format", ", ".join(_formats(places)) or "Plain text and values in memory"),
        ("Size", _sizes(blueprint)),
        (
            "Refresh",
            "On each use; the issue names no schedule" if not _is_scheduled(blueprint) else "As scheduled",
        ),
        ("Copyright/License", "The user's own data"),
    ]
    sources = render_table(("Attribute", "Value"), rows)
    files = " ──► ".join(change.path.rsplit("/", 1)[-1] for change in blueprint.code_files[:5]) or "existing code"
    end = " ──► " + places[0] if places else " ──► result on the console or in the answer"
    fixtures = render_table(("Fixture", "Source", "Notes"), _fixtures(blueprint))
    return (
        f"## 5. Data & Fixtures\n\n### 5.1 Data Sources\n\n{sources}\n\n"
        f"### 5.2 Data Pipeline\n\n```text\ninput ──► {files}{end}\n```\n\n"
        f"### 5.3 Test Fixtures\n\n{fixtures}\n\n"
        "### 5.4 Deployment Pipeline\n\nTests run locally and in CI on generated data; nothing leaves the machine."
    )


def _stored(blueprint: Blueprint) -> str:
    stored = {stem(word) for word in ("database", "table", "loans", "records", "catalogue", "column", "rows")}
    if any(keywords(text) & stored for text in blueprint.sentences[:500]):
        return "The product's existing store, through the code of 2.1"
    return "What the user gives on the call; no stored data"


def _places(blueprint: Blueprint) -> list[str]:
    spans = (span for text in blueprint.sentences[:500] for span in code_spans(text) if " " not in span)
    ends = (
        ".db",
        ".json",
        ".jsonl",
        ".csv",
        ".sqlite",
        ".log",
        ".toml",
        ".yaml",
        ".txt",
        ".md",
        ".html",
        "/",
    )
    stored = (span for span in spans if span.casefold().endswith(ends) and not span.startswith("--"))
    return list(dict.fromkeys(stored))[:8]


def _formats(places: list[str]) -> list[str]:
    names = {
        "db": "SQLite",
        "sqlite": "SQLite",
        "jsonl": "JSON lines",
        "json": "JSON",
        "csv": "CSV",
        "md": "Markdown",
    }
    endings = (place.rsplit(".", 1)[-1].casefold() for place in places if "." in place.rsplit("/", 1)[-1])
    return list(dict.fromkeys(names.get(ending, ending) for ending in endings))


def _sizes(blueprint: Blueprint) -> str:
    sized = [text for text in blueprint.sentences[:500] if any(figure.unit == "b" for figure in figures(text))]
    return shorten(sized[0], 120) if sized else "The issue states none; decision: tested with 10 and with 1,000 entries"


def _is_scheduled(blueprint: Blueprint) -> bool:
    return any(raised.signal.name == "calendar" for raised in blueprint.signals)


def _fixtures(blueprint: Blueprint) -> list[tuple[str, str, str]]:
    rows = [
        (f"State for: {shorten(what, 60)}", "Testing notes of the issue", shorten(how, 140))
        for what, how in blueprint.forcing[:6]
    ]
    for number, scenario in enumerate(blueprint.issue.scenarios[:6], 1):
        rows.append(
            (
                f"Setting of path {number}",
                "Generated",
                f"Stands as before step 1: {shorten(scenario.steps[0], 110)}",
            )
        )
    return rows or [
        (f"Data for {demand.id}", "Generated", f"The least that shows: {shorten(demand.text, 110)}")
        for demand in blueprint.demands[:6]
    ]


def write_diagram(blueprint: Blueprint) -> str:
    """Return section 6."""
    left_out = max(0, len(blueprint.issue.scenarios) - 6)
    note = f"\n\n{left_out} more path(s) are in 2.5." if left_out else ""
    return f"## 6. Diagram\n\n### 6.1 Sequence\n\n{draw(blueprint)}{note}"
