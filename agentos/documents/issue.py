"""Read an issue as people write it.

Any text is an issue: headings may have any wording or be missing, and what is wanted may
be a list, a table, boxes or sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from agentos.documents.criteria import find_criteria
from agentos.documents.headings import (
    Topic,
    change_type,
    find_user_story,
    is_metadata,
    place,
    scenario_title,
    split_label,
    topic_of,
)
from agentos.documents.issue_title import find_title, is_courtesy, opening_of
from agentos.documents.markdown import (
    MAX_CHARACTERS,
    Line,
    LineKind,
    Lines,
    ListItem,
    Section,
    items,
    paragraphs,
    sections,
)
from agentos.documents.shapes import read_shape
from agentos.documents.statements import entry_text, row_text, statements
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
_PROSE = (Topic.USER_STORY, Topic.OBJECTIVE, Topic.CONTEXT, Topic.ASIDE)
_LONGEST_COURTESY = 100
_STATED = (Topic.CRITERIA, Topic.REQUIREMENTS, Topic.DONE)
"""Topics whose prose is read sentence by sentence."""


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
    """What decides whether it is done, under whatever heading it stands."""
    has_criteria: bool = False
    """Whether the criteria have a section of their own."""
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
    """Read an issue of any shape; never fails."""
    text = text[:MAX_CHARACTERS]
    issue = _read(text, read_shape(text))
    if issue.title and issue.criteria:
        return issue
    # What is quoted, folded or copied counts where nothing else is said.
    whole = _read(text, read_shape(text, takes_copies=True))
    criteria = issue.criteria or whole.criteria
    title = issue.title or whole.title
    if criteria and not title:
        # It is a list and nothing else.
        title = criteria[0]
    return replace(issue, title=title, criteria=criteria)


def _read(text: str, lines: Lines) -> Issue:
    found = sections(lines)
    title = find_title(lines, found)
    opening = opening_of(lines)
    if title.head is not None:
        opening += title.head.body
    parts = {topic: _Parts() for topic in Topic}
    other: list[tuple[str, str]] = []
    _collect_opening(opening, title.text, parts)
    placed = tuple(place(found, title.head))
    for section, topic, group in placed:
        if topic is not None:
            _collect(section, topic, group, parts[topic])
        elif section.title:
            shown = _visible_text(section)
            other.append((section.title, shown))
    requirements = parts[Topic.REQUIREMENTS]
    context = parts[Topic.CONTEXT].texts
    story = parts[Topic.USER_STORY].prose
    if not story:
        story = find_user_story(lines)
    objective = parts[Topic.OBJECTIVE].prose
    named = parts[Topic.CRITERIA].notes
    is_stated = objective or story or named or requirements.notes
    if context and not is_stated:
        objective = context[0]
    files: dict[str, FileChange] = {}
    listed = parts[Topic.FILES].files
    for file in listed:
        files[file.path] = file
    said = "" if title.is_sentence else title.text
    criteria = find_criteria(said, opening, placed, lines)
    proposed = parts[Topic.PROPOSAL].remarks
    approach = parts[Topic.APPROACH].remarks
    scenarios = parts[Topic.SCENARIOS].scenarios
    done = parts[Topic.DONE].notes
    tested = parts[Topic.TESTING].notes
    questions = parts[Topic.QUESTIONS].questions
    return Issue(
        title=title.text,
        number=title.number,
        user_story=story,
        objective=objective,
        context=tuple(context),
        criteria=criteria.texts,
        has_criteria=criteria.are_named,
        requirements=tuple(requirements.notes),
        files=tuple(files.values()),
        scenarios=tuple(scenarios),
        technical_approach=proposed + approach,
        security=parts[Topic.SECURITY].remarks,
        risks=parts[Topic.RISKS].remarks,
        dependencies=parts[Topic.DEPENDENCIES].remarks,
        out_of_scope=parts[Topic.OUT_OF_SCOPE].remarks,
        definition_of_done=tuple(done),
        testing_notes=tuple(tested),
        open_questions=tuple(questions),
        other=tuple(other),
        text=text,
    )


def _visible_text(section: Section) -> str:
    rows = [line.text for line in section.body if line.kind is not LineKind.COMMENT]
    text = "\n".join(rows)
    return text.strip()


def _collect_opening(
    opening: Sequence[Line], title: str, parts: dict[Topic, _Parts]
) -> None:
    """Collect the text below the title, and labels such as `**Objective:** ...`."""
    context = parts[Topic.CONTEXT]
    for text in paragraphs(opening):
        start = text[:_LONGEST_COURTESY]
        bare = text.rstrip(".:")
        if bare == title:
            continue
        if is_metadata(text) or is_courtesy(start):
            continue
        context.texts.append(text)
    for line in opening:
        if not line.is_text:
            continue
        label, value = split_label(line.text)
        topic = topic_of(label)
        if value and topic in _LABELS:
            part = parts[topic]
            part.texts.append(value)
            part.notes.append(Note(value))


def _collect(section: Section, topic: Topic, group: str, into: _Parts) -> None:
    body = section.body
    listed = items(body)
    entries = list(map(entry_text, listed))
    running = paragraphs(body)
    grids = tables(body)
    into.texts += running
    if topic in _PROSE:
        into.texts += entries
    elif topic in _STATED:
        for text in statements(body):
            note = Note(text, group)
            into.notes.append(note)
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
                text = row_text(grid, row)
                entries.append(text)
        for text in entries or running:
            note = Note(text, group)
            into.notes.append(note)


def _questions(
    section: Section, listed: Sequence[ListItem], running: Sequence[str]
) -> Iterator[Question]:
    if not listed:
        for text in running:
            if not text.endswith("?"):
                continue
            yield Question(text)
    codes = _code_below(section.body, listed)
    for entry in listed:
        bare = entry.text.strip()
        bare = bare.strip(".*_ ")
        if bare.casefold() not in _NONE:
            code = " ".join(codes[entry.line])
            yield read_question(entry, code)


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
            path = grid.cell(
                row,
                "file",
                "path",
                "module",
            )
            path = path.strip("` ")
            description = grid.cell(
                row,
                "description",
                "what",
                "purpose",
                "why",
            )
            hint = grid.cell(
                row,
                "change",
                "type",
                "action",
            )
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
