"""Read a short brief: what is wrong, what is wished for, what must be kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentos.documents.headings import Topic, is_metadata, plain, split_number, topic_of
from agentos.documents.issue import Question, read_question
from agentos.documents.markdown import Section, items, paragraphs, scan, sections
from agentos.documents.undisturbed import undisturbed

MAX_BYTES = 2_000_000
_PROBLEM = (
    "problem",
    "context",
    "background",
    "why",
    "motivation",
    "situation",
    "today",
    "pain",
    "what happens",
)
_WISHES = (
    "wish",
    "want",
    "idea",
    "request",
    "what we",
    "goal",
    "need",
    "proposal",
    "should",
    "feature",
    "ask",
)
_CONSTRAINTS = (
    "constraint",
    "limit",
    "must not",
    "keep",
    "boundar",
    "rules",
    "non goal",
    "out of scope",
    "but",
)
_FAILURES = ("what goes wrong", "failure", "when it fails", "error", "edge case")


@dataclass(frozen=True, slots=True)
class Brief:
    """A brief as data."""

    title: str = ""
    number: int | None = None
    problem: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    text: str = field(default="", repr=False)

    @property
    def defects(self) -> tuple[str, ...]:
        """Return why this is no usable brief; empty when it is."""
        found = []
        if not self.title:
            found.append("it has no title: begin it with a heading such as '# 7 - Remind borrowers'")
        if not (self.problem or self.wishes):
            found.append("it states neither a problem nor a wish")
        return tuple(found)


@undisturbed
def parse_brief(text: str) -> Brief:
    """Read a brief; never fails, see `Brief.defects`."""
    lines = scan(text[:MAX_BYTES])
    found = sections(lines)
    title, number = split_number(found[0].title) if found else ("", None)
    groups: dict[str, list[str]] = {"problem": [], "wishes": [], "constraints": [], "failures": []}
    questions: list[Question] = []
    for position, section in enumerate(found):
        if position and topic_of(section.title) is Topic.QUESTIONS:
            questions.extend(read_question(entry) for entry in items(section.body))
            continue
        kind = "" if position == 0 else _kind(section.title)
        _collect(section, kind, groups)
    if not found:
        groups["problem"].extend(paragraphs(lines))
    return Brief(
        title,
        number,
        tuple(groups["problem"]),
        tuple(groups["wishes"]),
        tuple(groups["constraints"]),
        tuple(groups["failures"]),
        tuple(questions),
        text[:MAX_BYTES],
    )


def _kind(title: str) -> str:
    name = plain(title)
    for kind, starts in (
        ("failures", _FAILURES),
        ("constraints", _CONSTRAINTS),
        ("problem", _PROBLEM),
        ("wishes", _WISHES),
    ):
        if any(name.startswith(start) or f" {start}" in name for start in starts):
            return kind
    return ""


def _collect(section: Section, kind: str, groups: dict[str, list[str]]) -> None:
    """File bullets under their heading; without one, bullets are wishes and running text is the problem."""
    entries = ["; ".join([entry.text, *entry.details]) for entry in items(section.body)]
    running = [text for text in paragraphs(section.body) if not is_metadata(text)]
    if entries:
        groups[kind or "wishes"].extend(entries)
        groups["problem"].extend(running if kind in ("", "problem") else ())
    else:
        groups[kind or "problem"].extend(running)
