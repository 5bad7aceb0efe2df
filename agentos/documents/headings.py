"""Tell what a heading of an issue is about, whatever its wording."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from agentos.documents.markdown import Kind, Line, Section


class Topic(Enum):
    """The parts of an issue that the rules know."""

    USER_STORY = auto()
    OBJECTIVE = auto()
    CONTEXT = auto()
    CRITERIA = auto()
    REQUIREMENTS = auto()
    FILES = auto()
    SCENARIOS = auto()
    APPROACH = auto()
    SECURITY = auto()
    RISKS = auto()
    DEPENDENCIES = auto()
    OUT_OF_SCOPE = auto()
    DONE = auto()
    TESTING = auto()
    QUESTIONS = auto()


_NAMES: dict[Topic, str] = {
    Topic.USER_STORY: "user story|user stories|story|as a user",
    Topic.OBJECTIVE: "objective|objectives|goal|goals|purpose|summary|what|aim|outcome|desired outcome",
    Topic.CONTEXT: "context|background|problem|problem statement|motivation|why|description|overview"
    "|current state|current behaviour|current behavior|context goal|bug|symptom|steps to reproduce",
    Topic.CRITERIA: "acceptance criteria|acceptance criterion|acceptance|ac|acs|criteria|success criteria"
    "|acceptance tests|exit criteria",
    Topic.REQUIREMENTS: "requirements|requirement|functional requirements|must have|must haves|scope|in scope"
    "|what must be true|specification|expected behaviour|expected behavior|non functional requirements|tasks",
    Topic.FILES: "files to create modify|files to create or modify|files to modify|files to create|files"
    "|files changed|affected files|files affected|files touched|files to change|file changes|modules"
    "|affected modules",
    Topic.SCENARIOS: "ux flow|ux flows|user flow|flow|flows|scenarios|ux|user experience|walkthrough|use cases"
    "|examples",
    Topic.APPROACH: "technical approach|approach|technical notes|implementation notes|design|design notes"
    "|implementation|proposed solution|solution|technical design|architecture|proposal|notes",
    Topic.SECURITY: "security considerations|security|security and privacy|privacy|safety|security and safety"
    "|security safety",
    Topic.RISKS: "risks|risks and mitigations|risks mitigations|risk|constraints|limits|limitations",
    Topic.DEPENDENCIES: "dependencies|depends on|related|blocked by|related issues|prerequisites|dependency",
    Topic.OUT_OF_SCOPE: "out of scope|not in scope|non goals|nongoals|won t do|later|future|future work|excluded",
    Topic.DONE: "definition of done|dod|done when|checklist",
    Topic.TESTING: "testing notes|testing|tests|test plan|how to test|test notes|verification|qa notes",
    Topic.QUESTIONS: "open questions|questions|open question|unresolved questions|to clarify|open points",
}
_TOPICS = {name: topic for topic, names in _NAMES.items() for name in names.split("|")}
_STARTS = (
    ("acceptance crit", Topic.CRITERIA),
    ("files to", Topic.FILES),
    ("out of scope", Topic.OUT_OF_SCOPE),
    ("open question", Topic.QUESTIONS),
    ("definition of done", Topic.DONE),
    ("requirements", Topic.REQUIREMENTS),
    ("security", Topic.SECURITY),
    ("testing", Topic.TESTING),
    ("scenario ", Topic.SCENARIOS),
    ("dependencies", Topic.DEPENDENCIES),
)
_BEGINNINGS = tuple(start for start, _ in _STARTS)
_WORD = re.compile(r"[^\W_]+")
_METADATA = frozenset(
    {"status", "labels", "label", "priority", "estimate", "author", "depends on", "type", "size", "milestone"}
)
_INNER = frozenset({Topic.QUESTIONS, Topic.CRITERIA, Topic.FILES, Topic.OUT_OF_SCOPE, Topic.DEPENDENCIES})
_OUTER = frozenset({Topic.CONTEXT, Topic.OBJECTIVE, Topic.APPROACH, None})


def plain(title: str) -> str:
    """Reduce a heading to lower-case words, without numbering, brackets and symbols."""
    text = title.partition("(")[0] or title
    words = _WORD.findall(text.casefold())
    while words and words[0].isdigit():
        words.pop(0)
    return " ".join([word for word in words if word != "the"]).replace(" and or ", " or ")


def topic_of(title: str) -> Topic | None:
    """Return what a heading is about, or None when no rule knows it."""
    if len(title) > 200:
        return None
    name = plain(title)
    exact = _TOPICS.get(name)
    if exact is not None:
        return exact
    if not name.startswith(_BEGINNINGS):
        return None
    return next(topic for start, topic in _STARTS if name.startswith(start))


def place(found: Sequence[Section], title: Section | None) -> Iterator[tuple[Section, Topic | None, str]]:
    """Give every section but the title its topic and, below a known heading, its group."""
    known: list[tuple[int, Topic]] = []
    for section in found:
        if section is title:
            continue
        while known and known[-1][0] >= section.level:
            known.pop()
        own = topic_of(section.title)
        parent = known[-1][1] if known else None
        if parent is not None and not (own in _INNER and parent in _OUTER):
            yield section, parent, section.title
            continue
        if own is not None:
            known.append((section.level, own))
        yield section, own, section.title if plain(section.title).startswith("scenario") else ""


def split_number(title: str) -> tuple[str, int | None]:
    """Split `Issue #42: Export` or `42 - Export` into the title and its number."""
    text = title.strip().strip("*").strip()
    rest = text
    has_word = False
    for word in ("issue", "feature", "bug", "story", "lld", "task", "brief"):
        if rest.casefold().startswith(word) and rest[len(word) : len(word) + 1] in (" ", "-", "#"):
            candidate = rest[len(word) :].lstrip(" -")
            if candidate[:1] in ("#",) or candidate[:1].isdigit():
                rest, has_word = candidate, True
            break
    rest = rest.removeprefix("[")
    has_mark = rest.startswith("#")
    rest = rest.removeprefix("#")
    digits = len(rest[:10]) - len(rest[:10].lstrip("0123456789"))
    if not 0 < digits < 10:
        return text, None
    number, after = int(rest[:digits]), rest[digits:].removeprefix("]")
    tail = after.lstrip(" ")
    is_separated = tail[:1] in (":", "-", "\u2013", "—", ".") and tail[1:2] in (" ", "")
    if not (is_separated or (tail and (has_mark or (has_word and after[:1] == " ")))):
        return text, None
    return (tail[1:] if is_separated else tail).strip(), number


def scenario_title(title: str) -> str:
    """Return a scenario's title without its number."""
    head, found, tail = title.partition(":")
    if found and tail.strip() and plain(head).startswith(("scenario", "flow", "case", "use case")):
        return tail.strip()
    return title.strip()


def split_label(line: str) -> tuple[str, str]:
    """Split `* **Label:** value` into label and value; the value is empty when there is none."""
    text = line.strip().lstrip("-*+ ").replace("**", "")
    label, found, value = text.partition(":")
    if not found or len(label) > 40 or "`" in label:
        return "", ""
    return label.strip(), value.strip()


def is_metadata(text: str) -> bool:
    """Tell whether a paragraph is only `Label: value` lines about the issue."""
    label, value = split_label(text)
    names = (
        "status",
        "labels",
        "label",
        "priority",
        "estimate",
        "author",
        "depends on",
        "type",
        "size",
        "milestone",
    )
    return bool(value) and label.casefold() in names


def find_user_story(lines: Sequence[Line]) -> str:
    """Return the first paragraph line that tells a user story."""
    text = Kind.TEXT
    for line in lines:
        if line.kind is not text or " " not in line.text:
            continue
        bare = line.text.strip().lstrip(">*_ ").casefold()
        if bare.startswith(("as a ", "as an ")) and " want" in bare:
            return line.text.strip().lstrip(">*_ ").rstrip("*_ ")
    return ""


_ADDS = frozenset({"new", "add", "added", "create", "created", "creates"})
_DELETES = frozenset({"delete", "deleted", "remove", "removed", "drop"})
_VERBS = """
modify modified change changed update updated extend fix support use replace call pass read
integrate move rename make document register wire expose adjust return accept switch split stop let
load apply refactor bump log emit take keep raise reject write validate check show mention hash
reuse
"""
_CHANGES = frozenset(_VERBS.split())


def change_type(hint: str, description: str) -> str:
    """Tell Add, Modify or Delete from a stated type, else from how the description begins."""
    hinted = set(plain(hint).split()) if hint else set()
    if hinted & _DELETES:
        return "Delete"
    if hinted & _ADDS and not hinted & {"modify", "change", "update"}:
        return "Add"
    if hinted & _CHANGES and not hinted & _ADDS:
        return "Modify"
    words = plain(description[:200]).split()
    if not words:
        return "Modify"
    if words[0] in _DELETES and hinted & {"delete", "file"}:
        return "Delete"
    if words[0] == "new":
        return "Add"
    return "Modify" if words[0] in _CHANGES | _ADDS | _DELETES else "Add"
