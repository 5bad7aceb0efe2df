"""Designs that a reader would accept, each with its issue and its repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from agentos.documents.issue import Issue, parse_issue
from agentos.documents.lld import parse_lld, unwrap
from agentos.documents.verdict import Decision, parse_verdict
from agentos.workflows.calibration.case_files import load_cases
from tests.documents.accepted.mutations import Design, Paths
from tests.documents.accepted.styles import STYLES
from tests.documents.llds import corpus as llds
from tests.support import ROOT

HERE = Path(__file__).parent
FRESH = HERE / "fresh"
"""Designs by minds that had not seen the check."""
EXAMPLES = ROOT / "examples"
STYLED = ("depot", "recorded-17", "export-since")
"""The designs that are written in every style."""


def read(path: Path) -> str:
    """Return a text with its line ends as they are."""
    return path.read_bytes().decode("utf-8")


def all_designs() -> list[Design]:
    """Return every design, those in many styles included."""
    originals = [*_small(), *_recorded(), *_calibration(), *_fresh()]
    styled = [one for one in originals if one.name in STYLED]
    return [*originals, *(other for one in styled for other in _in_styles(one))]


def _in_styles(design: Design) -> Iterator[Design]:
    for name, write in STYLES.items():
        if name == "as it is":
            continue
        text = unwrap(write(design.text))
        yield Design(f"{design.name}, {name}", text, design.issue, design.tree)


def _small() -> Iterator[Design]:
    yield Design("depot", llds.BASE, parse_issue(llds.ISSUE), Paths(llds.FILES))
    fixtures = HERE.parent / "fixtures"
    issue = parse_issue(read(fixtures / "tide_issue.md"))
    yield Design("tide", read(fixtures / "tide_lld.md"), issue, Paths(frozenset()))
    for path in sorted((HERE / "small").glob("*.md")):
        yield _alone(path.stem, read(path))


def _alone(name: str, text: str) -> Design:
    """Return a design without an issue; the files that it changes exist."""
    existing = set()
    lines = set()
    for file in parse_lld(text).files:
        # The second path of a row is the new name.
        if file.line in lines and file.change == "Rename":
            continue
        lines.add(file.line)
        if not file.change.strip("*").casefold().startswith(("add", "new")):
            existing.add(file.path)
    return Design(name, text, Issue(), Paths(frozenset(existing)))


def _recorded() -> Iterator[Design]:
    repository = EXAMPLES / "backlog"
    files = (path for path in repository.rglob("*") if path.is_file())
    tree = Paths(frozenset(path.relative_to(repository).as_posix() for path in files))
    for folder in sorted((EXAMPLES / "recorded").iterdir()):
        for path in sorted(folder.glob("lld-draft-*.md")):
            review = path.with_name(path.name.replace("draft", "review"))
            verdict = parse_verdict(read(review.with_suffix(".json")))
            if verdict.decision is not Decision.APPROVED:
                continue
            name = "audit-trail.md" if folder.name == "31" else f"{folder.name}-*.md"
            (source,) = (repository / "docs/issues").glob(name)
            issue = parse_issue(read(source))
            yield Design(f"recorded-{folder.name}", read(path), issue, tree)


def _calibration() -> Iterator[Design]:
    for case in load_cases():
        if case.defect is None:
            design = _alone(case.name, case.draft)
            yield Design(case.name, case.draft, parse_issue(case.source), design.tree)


def _fresh() -> Iterator[Design]:
    for folder in sorted(FRESH.iterdir()):
        names = read(folder / "tree.txt").split("\n")
        files = {name.strip().rstrip("/").removeprefix("./") for name in names}
        issue = parse_issue(read(folder / "issue.md"))
        tree = Paths(frozenset(filter(None, files)))
        yield Design(folder.name, read(folder / "design.md"), issue, tree)
