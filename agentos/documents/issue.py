"""Read an issue as people write it.

Headings may have any wording, and texts may be lists, tables or checkboxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agentos.documents.headings import (
    Topic,
    change_type,
    find_user_story,
    is_metadata,
    place,
    scenario_title,
    split_label,
    split_number,
    topic_of,
)
from agentos.documents.markdown import (
    MAX_CHARACTERS,
    Line,
    LineKind,
    ListItem,
    Section,
    items,
    paragraphs,
    scan,
    sections,
)
from agentos.documents.tables import Table, tables
from agentos.documents.without_gc import without_gc
from agentos.documents.words import code_spans

_Texts = tuple[str, ...]
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
_NONE = ("none", "n/a", "no", "nothing", "none so far")
_LABELS = (Topic.DEPENDENCIES, Topic.OBJECTIVE, Topic.USER_STORY)
_PROSE = (Topic.USER_STORY, Topic.OBJECTIVE, Topic.CONTEXT)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file to change; `change` is Add, Modify or Delete."""

    path: str
    change: str
    description: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """A use of the product, step by step."""

    title: str
    steps: _Texts


@dataclass(frozen=True, slots=True)
class Question:
    """An open question; `answer` is empty unless the author settled it."""

    text: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A requirement or remark, with the subheading above it."""

    text: str
    group: str = ""


_Notes = tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue as data."""

    title: str = ""
    number: int | None = None
    user_story: str = ""
    objective: str = ""
    context: _Texts = ()
    criteria: _Texts = ()
    requirements: _Notes = ()
    files: tuple[FileChange, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    technical_approach: _Texts = ()
    security: _Texts = ()
    risks: _Texts = ()
    dependencies: _Texts = ()
    out_of_scope: _Texts = ()
    definition_of_done: _Notes = ()
    testing_notes: _Notes = ()
    open_questions: tuple[Question, ...] = ()
    other: tuple[tuple[str, str], ...] = ()
    """Unknown headings, with their text."""
    text: str = field(default="", repr=False)

    @property
    def defects(self) -> _Texts:
        """Return what makes this issue unusable as a specification."""
        found = []
        if not self.title:
            found.append(
                "it has no title: begin it with a heading such as '# 42 - Export to"
                " CSV'"
            )
        is_stated = (
            self.objective or self.user_story or self.requirements or self.criteria
        )
        if not is_stated:
            found.append(
                "it states no objective, user story, requirement or acceptance"
                " criterion"
            )
        return tuple(found)


@dataclass(slots=True)
class _Parts:
    """The contents of all sections on one topic, in order."""

    texts: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    files: list[FileChange] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    scenarios: list[Scenario] = field(default_factory=list)

    @property
    def prose(self) -> str:
        """Return the texts in one paragraph."""
        return " ".join(self.texts)

    @property
    def remarks(self) -> _Texts:
        """Return the texts of the notes."""
        return tuple(note.text for note in self.notes)


@without_gc
def parse_issue(text: str) -> Issue:
    """Read an issue; never fails, see `Issue.defects`."""
    text = text[:MAX_CHARACTERS]
    lines = scan(text)
    found = sections(lines)
    title = ""
    number = None
    parts = {topic: _Parts() for topic in Topic}
    other: list[tuple[str, str]] = []
    head = _title_section(found)
    if head is not None:
        title, number = split_number(head.title)
        _collect_opening(head, parts)
    for section, topic, group in place(found, head):
        if topic is not None:
            _collect(section, topic, group, parts[topic])
        else:
            shown = _visible_text(section)
            other.append((section.title, shown))
    criteria = parts[Topic.CRITERIA]
    requirements = parts[Topic.REQUIREMENTS]
    context = parts[Topic.CONTEXT].texts
    story = parts[Topic.USER_STORY].prose
    if not story:
        story = find_user_story(lines)
    objective = parts[Topic.OBJECTIVE].prose
    is_stated = objective or story or criteria.notes or requirements.notes
    if context and not is_stated:
        objective = context[0]
    files: dict[str, FileChange] = {}
    for file in parts[Topic.FILES].files:
        files[file.path] = file
    return Issue(
        title=title,
        number=number,
        user_story=story,
        objective=objective,
        context=tuple(context),
        criteria=criteria.remarks,
        requirements=tuple(requirements.notes),
        files=tuple(files.values()),
        scenarios=tuple(parts[Topic.SCENARIOS].scenarios),
        technical_approach=parts[Topic.APPROACH].remarks,
        security=parts[Topic.SECURITY].remarks,
        risks=parts[Topic.RISKS].remarks,
        dependencies=parts[Topic.DEPENDENCIES].remarks,
        out_of_scope=parts[Topic.OUT_OF_SCOPE].remarks,
        definition_of_done=tuple(parts[Topic.DONE].notes),
        testing_notes=tuple(parts[Topic.TESTING].notes),
        open_questions=tuple(parts[Topic.QUESTIONS].questions),
        other=tuple(other),
        text=text,
    )


def _visible_text(section: Section) -> str:
    rows = [line.text for line in section.body if line.kind is not LineKind.COMMENT]
    text = "\n".join(rows)
    return text.strip()


def _title_section(found: Sequence[Section]) -> Section | None:
    """Return the first section, unless its heading belongs to a known topic."""
    if not found:
        return None
    first = found[0]
    title, number = split_number(first.title)
    if not title:
        return None
    if number is None and topic_of(title) is not None:
        return None
    return first


def _collect_opening(section: Section, parts: dict[Topic, _Parts]) -> None:
    """Collect the text below the title, and labels such as `**Objective:** ...`."""
    context = parts[Topic.CONTEXT]
    for text in paragraphs(section.body):
        if not is_metadata(text):
            context.texts.append(text)
    for line in section.body:
        if not line.is_text:
            continue
        label, value = split_label(line.text)
        topic = topic_of(label)
        if value and topic in _LABELS:
            part = parts[topic]
            part.texts.append(value)
            part.notes.append(Note(value))


def _collect(section: Section, topic: Topic, group: str, into: _Parts) -> None:
    listed = items(section.body)
    entries = list(map(_entry_text, listed))
    running = paragraphs(section.body)
    grids = tables(section.body)
    into.texts += running
    if topic in _PROSE:
        into.texts += entries
    elif topic is Topic.FILES:
        into.files += _table_files(grids)
        into.files += _listed_files(listed, group)
    elif topic is Topic.QUESTIONS:
        into.questions += _questions(section, listed, running)
    elif topic is Topic.SCENARIOS:
        steps = tuple(entries or running)
        if steps:
            title = scenario_title(group or section.title)
            scenario = Scenario(title, steps)
            into.scenarios.append(scenario)
    else:
        for grid in grids:
            for row in grid.rows:
                cell = _row_text(grid, row)
                entries.append(cell)
        for text in entries or running:
            note = Note(text, group)
            into.notes.append(note)


def _questions(
    section: Section, listed: Sequence[ListItem], running: Sequence[str]
) -> Iterator[Question]:
    if not listed:
        for text in running:
            if text.endswith("?"):
                yield Question(text)
    codes = _code_below(section.body, listed)
    for entry in listed:
        bare = entry.text.strip()
        bare = bare.strip(".*_ ")
        if bare.casefold() not in _NONE:
            code = " ".join(codes[entry.line])
            yield read_question(entry, code)


def _entry_text(entry: ListItem) -> str:
    if not entry.details:
        return entry.text
    text = entry.text.rstrip(":;,. ")
    details = "; ".join(entry.details)
    return f"{text}: {details}"


def _row_text(grid: Table, row: _Texts) -> str:
    """Return the cell under a known heading, or else the whole row.

    In a table such as `| Days late | Fee |` no cell means anything without the others.
    """
    text = grid.cell(
        row,
        "criterion",
        "requirement",
        "description",
        "concern",
        "risk",
    )
    if text:
        return text
    if len(row) == 1:
        return row[0]
    parts = []
    for title, cell in zip(grid.header, row, strict=True):
        label = title.strip("*_`#: ")
        if label and cell:
            parts.append(f"{label}: {cell}")
        elif cell:
            parts.append(cell)
    return "; ".join(parts)


def _code_below(
    lines: Sequence[Line], entries: Sequence[ListItem]
) -> dict[int, list[str]]:
    """Return the fenced code that belongs to each entry, by the line of the entry."""
    codes: dict[int, list[str]] = {entry.line: [] for entry in entries}
    current: list[str] = []
    for line in lines:
        current = codes.get(line.number, current)
        code = line.text.strip()
        if code and line.kind is LineKind.CODE:
            current.append(code)
    return codes


def read_question(entry: ListItem, code: str = "") -> Question:
    """Read an entry of a list of questions, with the answer that it may contain.

    `code` is fenced code below the entry, which belongs to the answer.
    """
    text = entry.text
    details = filter(None, [*entry.details, code])
    below = "; ".join(details)
    for mark in _ANSWERS:
        head, found, tail = text.partition(mark)
        if not found:
            continue
        said = tail.strip(" *")
        is_bold = mark.startswith("**")
        if said or (below and is_bold):
            answers = filter(None, [said, below])
            answer = " ".join(answers)
            return Question(head.strip(" ~*"), answer)
        if is_bold:
            text = head
    answer = below
    if entry.is_checked and not answer:
        answer = "settled by the author of the issue"
    return Question(text.strip(" ~"), answer)


def _table_files(grids: Sequence[Table]) -> Iterator[FileChange]:
    for grid in grids:
        for row in grid.rows:
            path = grid.cell(row, "file", "path", "module")
            path = path.strip("` ")
            description = grid.cell(row, "description", "what", "purpose", "why")
            hint = grid.cell(row, "change", "type", "action")
            if path:
                change = change_type(hint, description)
                yield FileChange(path, change, description)


def _listed_files(entries: Sequence[ListItem], group: str) -> Iterator[FileChange]:
    for entry in entries:
        hint, path, description = _file_entry(entry.text)
        if path:
            details = filter(None, [description, *entry.details])
            description = "; ".join(details)
            change = change_type(hint or group, description)
            yield FileChange(path, change, description)


def _file_entry(text: str) -> tuple[str, str, str]:
    """Split `Modify: `src/x.py` (new) — does y` into change, path and description."""
    hint = ""
    spans = code_spans(text)
    if spans:
        path = spans[0]
        hint, _, rest = text.partition(f"`{path}`")
        hint = hint.strip(" :-*")
    else:
        path, _, rest = text.partition(" ")
        if "/" not in path and "." not in path:
            return "", "", ""
        path = path.rstrip(":,")
    rest = rest.strip()
    if rest.startswith("("):
        rest = rest.removeprefix("(")
        inside, _, rest = rest.partition(")")
        hint = hint or inside
        # Modify is the default: without that word, the brackets hold a description.
        is_default = change_type(inside, "") == "Modify"
        if is_default and "modif" not in inside.casefold():
            rest = f"{inside}. {rest}"
    rest = rest.strip()
    rest = rest.lstrip("—\u2013-:,. ")
    return hint, path.strip(), rest.strip()
