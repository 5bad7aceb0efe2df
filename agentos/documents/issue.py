"""Read an issue as people write it: headings of any wording, lists, tables, checkboxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentos.documents import headings
from agentos.documents.headings import Topic
from agentos.documents.markdown import Item, Kind, Line, Section, items, paragraphs, scan, sections
from agentos.documents.tables import Table, tables
from agentos.documents.undisturbed import undisturbed
from agentos.documents.words import code_spans, normalise

MAX_BYTES = 2_000_000
_QUOTED = 100
_ANSWERS = (
    "**Answer:",
    "**Answer**:",
    "**RESOLVED:",
    "**Resolved:",
    "Answer:",
    "Decision:",
    "Default:",
    "->",
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something the issue demands, with the subheading it stands under."""

    text: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that the issue wants touched; `change` is Add, Modify or Delete."""

    path: str
    change: str
    description: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """A walk through the product, step by step."""

    title: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """An open question; `answer` is what the author already settled."""

    text: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A remark with the subheading it stands under."""

    text: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue as data; what could not be placed is kept by heading in `other`."""

    title: str = ""
    number: int | None = None
    user_story: str = ""
    objective: str = ""
    context: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    files: tuple[FileChange, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    technical_approach: tuple[str, ...] = ()
    security: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    definition_of_done: tuple[Note, ...] = ()
    testing_notes: tuple[Note, ...] = ()
    open_questions: tuple[Question, ...] = ()
    other: tuple[tuple[str, str], ...] = ()
    """Headings that no rule knows, with their text."""
    text: str = field(default="", repr=False)

    @property
    def defects(self) -> tuple[str, ...]:
        """Return why this is no usable specification; empty when it is."""
        found = []
        if not self.title:
            found.append("it has no title: begin it with a heading such as '# 42 - Export to CSV'")
        if not (self.objective or self.user_story or self.requirements or self.criteria):
            found.append("it states no objective, user story, requirement or acceptance criterion")
        return tuple(found)


@dataclass(slots=True)
class _Parts:
    """What the sections of one topic hold, collected in order."""

    texts: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    files: list[FileChange] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    scenarios: list[Scenario] = field(default_factory=list)


@undisturbed
def parse_issue(text: str) -> Issue:
    """Read an issue; never fails, see `Issue.defects`."""
    lines = scan(text[:MAX_BYTES])
    found = sections(lines)
    title_section = _title_section(found)
    title, number = headings.split_number(title_section.title) if title_section else ("", None)
    parts: dict[Topic, _Parts] = {topic: _Parts() for topic in Topic}
    other: list[tuple[str, str]] = []
    if title_section is not None:
        _collect_opening(title_section, parts)
    for section, topic, group in headings.place(found, title_section):
        if topic is None:
            body = "\n".join(line.text for line in section.body if line.kind is not Kind.COMMENT).strip()
            other.append((section.title, body))
            continue
        _collect(section, topic, group, parts[topic])
    story = " ".join(parts[Topic.USER_STORY].texts) or headings.find_user_story(lines)
    context = parts[Topic.CONTEXT].texts
    is_specified = story or parts[Topic.CRITERIA].notes or parts[Topic.REQUIREMENTS].notes
    stand_in = context[0] if context and not is_specified else ""
    return Issue(
        title=title,
        number=number,
        user_story=story,
        objective=" ".join(parts[Topic.OBJECTIVE].texts) or stand_in,
        context=tuple(context),
        criteria=tuple(note.text for note in parts[Topic.CRITERIA].notes),
        requirements=tuple(Requirement(note.text, note.group) for note in parts[Topic.REQUIREMENTS].notes),
        files=tuple({change.path: change for change in parts[Topic.FILES].files}.values()),
        scenarios=tuple(parts[Topic.SCENARIOS].scenarios),
        technical_approach=_texts(parts[Topic.APPROACH]),
        security=_texts(parts[Topic.SECURITY]),
        risks=_texts(parts[Topic.RISKS]),
        dependencies=_texts(parts[Topic.DEPENDENCIES]),
        out_of_scope=_texts(parts[Topic.OUT_OF_SCOPE]),
        definition_of_done=tuple(parts[Topic.DONE].notes),
        testing_notes=tuple(parts[Topic.TESTING].notes),
        open_questions=tuple(parts[Topic.QUESTIONS].questions),
        other=tuple(other),
        text=text[:MAX_BYTES],
    )


def is_settled(claim: str, questions: Sequence[Question]) -> bool:
    """Tell whether somebody has answered a question about a claim, which quotes its words."""
    quoted = normalise(claim)[:_QUOTED]
    return bool(quoted) and any(question.answer and quoted in normalise(question.text) for question in questions)


def _texts(parts: _Parts) -> tuple[str, ...]:
    return tuple(note.text for note in parts.notes)


def _title_section(found: Sequence[Section]) -> Section | None:
    """Return the first heading, unless it is the heading of a known part."""
    if not found:
        return None
    first = found[0]
    title, number = headings.split_number(first.title)
    if not title or (number is None and headings.topic_of(title) is not None):
        return None
    return first


def _collect_opening(section: Section, parts: dict[Topic, _Parts]) -> None:
    parts[Topic.CONTEXT].texts.extend(text for text in paragraphs(section.body) if not headings.is_metadata(text))
    _read_labels(section.body, parts)


def _read_labels(lines: Sequence[Line], parts: dict[Topic, _Parts]) -> None:
    """Read lines such as `**Objective:** ...` and `Depends on: #7`."""
    for line in lines:
        if line.kind is not Kind.TEXT:
            continue
        label, value = headings.split_label(line.text)
        topic = headings.topic_of(label) if value else None
        if topic in (Topic.DEPENDENCIES, Topic.OBJECTIVE, Topic.USER_STORY):
            parts[topic].texts.append(value)
            parts[topic].notes.append(Note(value))


def _collect(section: Section, topic: Topic, group: str, into: _Parts) -> None:
    entries = items(section.body)
    running = paragraphs(section.body)
    grids = tables(section.body)
    into.texts.extend(running)
    if topic in (Topic.USER_STORY, Topic.OBJECTIVE, Topic.CONTEXT):
        into.texts.extend(_entry_text(entry) for entry in entries)
        return
    if topic is Topic.FILES:
        into.files.extend(_files(entries, grids, group))
    elif topic is Topic.QUESTIONS:
        codes = _code_below(section.body, entries)
        pairs = zip(entries, codes, strict=True)
        into.questions.extend(read_question(entry, code) for entry, code in pairs if not _says_none(entry.text))
        if not entries:
            into.questions.extend(Question(text) for text in running if text.endswith("?"))
    elif topic is Topic.SCENARIOS:
        steps = tuple(_entry_text(entry) for entry in entries) or tuple(running)
        if steps:
            into.scenarios.append(Scenario(headings.scenario_title(group or section.title), steps))
    else:
        into.notes.extend(Note(_entry_text(entry), group) for entry in entries)
        into.notes.extend(Note(_row_text(grid, row), group) for grid in grids for row in grid.rows)
        if not entries and not grids:
            into.notes.extend(Note(text, group) for text in running)


def _entry_text(entry: Item) -> str:
    if not entry.details:
        return entry.text
    return f"{entry.text.rstrip(':;,. ')}: {'; '.join(entry.details)}"


def _says_none(text: str) -> bool:
    return text.strip().strip(".*_ ").casefold() in ("none", "n/a", "no", "nothing", "none so far")


def _row_text(grid: Table, row: tuple[str, ...]) -> str:
    """Return the cell that says most, without the id column."""
    index = grid.column("criterion", "requirement", "description", "concern", "risk")
    if index is not None and row[index]:
        return row[index]
    return max(row, key=len, default="")


def _code_below(lines: Sequence[Line], entries: Sequence[Item]) -> list[str]:
    """Return the fenced code that belongs to each entry, in one line."""
    rows: list[list[str]] = [[] for _ in entries]
    position = -1
    for line in lines:
        while position + 1 < len(entries) and entries[position + 1].line <= line.number:
            position += 1
        if line.kind is Kind.CODE and position >= 0:
            rows[position].append(line.text.strip())
    return [" ".join(filter(None, found)) for found in rows]


def read_question(entry: Item, code: str = "") -> Question:
    """Read an entry of a list of questions, with its answer where it has one, the code below it included."""
    text = entry.text
    below = "; ".join([*entry.details, *([code] if code else [])])
    for mark in _ANSWERS:
        head, found, tail = text.partition(mark)
        said = tail.strip(" *")
        if found and (said or (below and mark.startswith("**"))):
            return Question(head.strip(" ~*"), " ".join(filter(None, (said, below))))
        if found and mark.startswith("**"):
            text = head
    answer = below
    if entry.is_checked and not answer:
        answer = "settled by the author of the issue"
    return Question(text.strip(" ~"), answer)


def _files(entries: Sequence[Item], grids: Sequence[Table], group: str) -> list[FileChange]:
    found = []
    for grid in grids:
        for row in grid.rows:
            path = grid.cell(row, "file", "path", "module").strip("` ")
            if path:
                description = grid.cell(row, "description", "what", "purpose", "why")
                change = headings.change_type(grid.cell(row, "change", "type", "action"), description)
                found.append(FileChange(path, change, description))
    for entry in entries:
        change_hint, path, description = _file_entry(entry.text)
        if path:
            described = "; ".join([part for part in (description, *entry.details) if part])
            found.append(FileChange(path, headings.change_type(change_hint or group, described), described))
    return found


def _file_entry(text: str) -> tuple[str, str, str]:
    """Split `Modify: `src/x.py` (new) — does y` into change, path and description."""
    spans = code_spans(text)
    if spans:
        before, _, after = text.partition(f"`{spans[0]}`")
        path = spans[0]
    else:
        path, _, after = text.partition(" ")
        before = ""
        if "/" not in path and "." not in path:
            return "", "", ""
        path = path.rstrip(":,")
    hint = before.strip(" :-*")
    after = after.strip()
    if after.startswith("("):
        inside, _, after = after[1:].partition(")")
        hint = hint or inside
        if headings.change_type(inside, "") == "Modify" and "modif" not in inside.casefold():
            after = f"{inside}. {after}"
    return hint, path.strip(), after.strip().lstrip("—\u2013-:,. ").strip()
