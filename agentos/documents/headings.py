"""Tell what a heading of an issue is about, however it is worded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from agentos.documents.markdown import Form, Line, Section


class Topic(Enum):
    """The known parts of an issue."""

    USER_STORY = auto()
    OBJECTIVE = auto()
    CONTEXT = auto()
    CRITERIA = auto()
    REQUIREMENTS = auto()
    FILES = auto()
    SCENARIOS = auto()
    PROPOSAL = auto()
    APPROACH = auto()
    SECURITY = auto()
    RISKS = auto()
    DEPENDENCIES = auto()
    OUT_OF_SCOPE = auto()
    DONE = auto()
    TESTING = auto()
    QUESTIONS = auto()
    ASIDE = auto()
    """What wants nothing: steps, versions, logs, alternatives."""


_NAMES: dict[Topic, str] = {
    Topic.USER_STORY: "user story|user stories|story|as a user",
    Topic.OBJECTIVE: (
        "objective|objectives|goal|goals|purpose|summary|what|aim|outcome|desired"
        " outcome|ziel|ziele|objectif|objectifs|objetivo|objetivos"
    ),
    Topic.CONTEXT: (
        "context|background|problem|problem"
        " statement|motivation|why|description|overview|current state|current"
        " behaviour|current behavior|actual|actual behavior|actual behaviour|actual"
        " result|actual results|actual output|context goal|bug|bug report|symptom|what"
        " happened|what happens|feature|feature request|feature description"
        "|beschreibung|hintergrund|kontext|tatsächliches verhalten|aktuelles verhalten"
        "|contexte|problème|comportement actuel|contexto|problema|descripción"
        "|comportamiento actual"
    ),
    Topic.CRITERIA: (
        "acceptance criteria|acceptance criterion|acceptance|ac|acs|criteria|success"
        " criteria|acceptance tests|exit criteria|akzeptanzkriterien"
        "|abnahmekriterien|critères d acceptation|critères d acceptance"
        "|criterios de aceptación"
    ),
    Topic.REQUIREMENTS: (
        "requirements|requirement|functional requirements|must have|must haves|scope|in"
        " scope|what must be true|specification|expected behaviour|expected"
        " behavior|non functional requirements|tasks|task list|deliverables|desired"
        " behavior|desired behaviour|expected|expected result|expected"
        " results|expected output|expected outcome|expectation|expectations|what"
        " should happen|what i expected|what we want|what is wanted|to do|todo|todos"
        "|solution you d like|anforderungen|aufgaben|erwartetes"
        " verhalten|gewünschtes verhalten|erwartet|exigences|tâches|à faire"
        "|comportement attendu|résultat attendu|requisitos|tareas"
        "|comportamiento esperado|resultado esperado"
    ),
    Topic.FILES: (
        "files to create modify|files to create or modify|files to modify|files to"
        " create|files|files changed|affected files|files affected|files touched|files"
        " to change|file changes|modules|affected modules"
    ),
    Topic.SCENARIOS: (
        "ux flow|ux flows|user flow|flow|flows|scenarios|ux|user"
        " experience|walkthrough|use case|use cases|examples"
    ),
    Topic.PROPOSAL: (
        "proposal|proposed solution|solution|proposed change|proposed changes|suggested"
        " solution|possible solution|suggestion|suggested fix|proposed"
        " fix|lösung|lösungsvorschlag|vorschlag|proposition|propuesta"
    ),
    Topic.APPROACH: (
        "technical approach|approach|technical notes|implementation notes|design|design"
        " notes|detailed design|implementation|technical design|architecture|notes"
    ),
    Topic.SECURITY: (
        "security considerations|security|security and privacy|privacy|safety|security"
        " and safety|security safety"
    ),
    Topic.RISKS: (
        "risks|risks and mitigations|risks"
        " mitigations|risk|constraints|limits|limitations|drawbacks"
    ),
    Topic.DEPENDENCIES: (
        "dependencies|depends on|related|blocked by|related"
        " issues|prerequisites|dependency"
    ),
    Topic.OUT_OF_SCOPE: (
        "out of scope|not in scope|non goals|nongoals|won t do|later|future|future"
        " work|excluded|nicht ziele|hors périmètre|fuera de alcance"
    ),
    Topic.DONE: "definition of done|dod|done when|checklist",
    Topic.TESTING: (
        "testing notes|testing|tests|test plan|how to test|test notes|verification|qa"
        " notes"
    ),
    Topic.QUESTIONS: (
        "open questions|questions|open question|unresolved questions|to clarify|open"
        " points|offene fragen|fragen|questions ouvertes|preguntas abiertas|preguntas"
    ),
    Topic.ASIDE: (
        "steps|repro|repro steps|reproduce|reproduction|reproducer|minimal example|environment|version"
        "|versions|system info|system information|operating system|os|browser|desktop"
        "|smartphone|platform|logs|log|log output|relevant log output|traceback|stack"
        " trace|stacktrace|error message|screenshots|screenshot|alternatives"
        "|references|links|code of conduct|before submitting|workaround|schritte"
        "|umgebung|environnement|entorno"
    ),
}
_TOPICS: dict[str, Topic] = {}
for _topic, _names in _NAMES.items():
    _TOPICS.update(dict.fromkeys(_names.split("|"), _topic))
_STARTS = (
    ("files to", Topic.FILES),
    ("out of scope", Topic.OUT_OF_SCOPE),
    ("open question", Topic.QUESTIONS),
    ("requirements", Topic.REQUIREMENTS),
    ("security", Topic.SECURITY),
    ("testing", Topic.TESTING),
    ("scenario ", Topic.SCENARIOS),
    ("dependencies", Topic.DEPENDENCIES),
    ("expected ", Topic.REQUIREMENTS),
    ("desired ", Topic.REQUIREMENTS),
    ("actual ", Topic.CONTEXT),
    ("alternatives ", Topic.ASIDE),
    ("additional ", Topic.ASIDE),
)
_FORMS = (
    ("acceptance crit", Topic.CRITERIA),
    ("definition of done", Topic.DONE),
    ("expected behav", Topic.REQUIREMENTS),
    ("what did you expect", Topic.REQUIREMENTS),
    ("what you expected", Topic.REQUIREMENTS),
    ("what should ", Topic.REQUIREMENTS),
    ("what would you like", Topic.REQUIREMENTS),
    ("describe solution", Topic.REQUIREMENTS),
    ("describe feature", Topic.REQUIREMENTS),
    ("describe alternatives", Topic.ASIDE),
    ("describe ", Topic.CONTEXT),
    ("is your feature request", Topic.CONTEXT),
    ("what happened", Topic.CONTEXT),
    ("what actually ", Topic.CONTEXT),
    ("additional context", Topic.ASIDE),
    ("steps to reproduce", Topic.ASIDE),
    ("to reproduce", Topic.ASIDE),
    ("how to reproduce", Topic.ASIDE),
    ("are you willing", Topic.ASIDE),
    ("schritte zum ", Topic.ASIDE),
    ("étapes pour ", Topic.ASIDE),
    ("pasos para ", Topic.ASIDE),
)
"""How the headings of the trackers' forms begin, which are no titles."""
_WORD = re.compile(r"[^\W_]+")
_METADATA = {
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
    "created",
    "from",
    "to",
    "cc",
    "date",
    "sent",
    "subject",
}
_NUMBERED = re.compile(
    r"(?P<word>(?:issue|feature|bug|story|lld|task|brief)(?=[ #-])[ -]*(?=[#0-9]))?"
    r"\[?(?P<mark>#?)(?P<number>[0-9]{1,9})(?![0-9])\]?"
    r"(?P<space> *)(?P<sign>[:.\-\u2013—](?= |$))?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_INNER = frozenset(
    {
        Topic.QUESTIONS,
        Topic.CRITERIA,
        Topic.FILES,
        Topic.OUT_OF_SCOPE,
        Topic.DEPENDENCIES,
        Topic.REQUIREMENTS,
        Topic.ASIDE,
    }
)
"""Topics that keep their own place below a heading of `_OUTER`."""
_OUTER = frozenset({Topic.CONTEXT, Topic.OBJECTIVE, Topic.APPROACH, Topic.PROPOSAL})


def plain(title: str) -> str:
    """Reduce a heading to lower-case words, without numbering, brackets and symbols."""
    # A title that begins with a bracket is kept whole.
    text = title.partition("(")[0] or title
    words = _WORD.findall(text.casefold())
    while words and words[0].isdigit():
        words.pop(0)
    name = " ".join([word for word in words if word != "the"])
    return name.replace(" and or ", " or ")


def named_topic(title: str) -> Topic | None:
    """Return the topic of which a heading is the name and nothing more."""
    if len(title) > 200:
        return None
    return _TOPICS.get(plain(title))


def is_form_heading(title: str) -> bool:
    """Tell whether a heading is one that trackers put into their forms."""
    return plain(title[:200]).startswith(tuple(start for start, _ in _FORMS))


def topic_of(title: str) -> Topic | None:
    """Return what a heading is about, or None if it is unknown."""
    if len(title) > 200:
        return None
    name = plain(title)
    if name in _TOPICS:
        return _TOPICS[name]
    for start, topic in _FORMS + _STARTS:
        if name.startswith(start):
            return topic
    if name.endswith(" version"):
        return Topic.ASIDE
    return None


def place(
    found: Sequence[Section], head: Section | None
) -> Iterator[tuple[Section, Topic | None, str]]:
    """Yield every section but the title with its topic and its group.

    A section below a known heading has the topic of that heading, and its own title is
    its group.
    """
    # The known headings above the current section, with their levels.
    known: list[tuple[int, Topic]] = []
    for section in found:
        if section is head:
            continue
        while known and known[-1][0] >= section.level:
            known.pop()
        title = section.title
        own = topic_of(title)
        if known:
            _, parent = known[-1]
            stands_alone = own in _INNER and parent in _OUTER
            if not stands_alone:
                yield section, parent, title
                continue
        if own is not None:
            known.append((section.level, own))
        group = ""
        if plain(title).startswith("scenario"):
            group = title
        yield section, own, group


def split_number(title: str) -> tuple[str, int | None]:
    """Split `Issue #42: Export` or `42 - Export` into the title and its number."""
    text = title.strip().strip("*").strip()
    found = _NUMBERED.fullmatch(text)
    if found is None:
        return text, None
    # `42 Export` may be a quantity; `#42 Export` and `Issue 42 Export` are not.
    is_named = found["mark"] or (found["word"] and found["space"])
    if not found["sign"] and not (is_named and found["rest"]):
        return text, None
    return found["rest"].strip(), int(found["number"])


def scenario_title(title: str) -> str:
    """Return a scenario's title without its number."""
    head, found, tail = title.partition(":")
    is_numbered = plain(head).startswith(("scenario", "flow", "case", "use case"))
    if found and tail.strip() and is_numbered:
        return tail.strip()
    return title.strip()


def split_label(line: str) -> tuple[str, str]:
    """Split `* **Label:** value` into label and value, both empty without a label."""
    text = line.strip().lstrip("-*+ ").replace("**", "")
    label, found, value = text.partition(":")
    if not found or len(label) > 40 or "`" in label:
        return "", ""
    return label.strip(), value.strip()


def is_metadata(text: str) -> bool:
    """Tell whether a paragraph begins with a `Label: value` about the issue."""
    label, value = split_label(text)
    return value != "" and label.casefold() in _METADATA


def find_user_story(lines: Sequence[Line]) -> str:
    """Return the first line that tells a user story, or an empty string."""
    for line in lines:
        if not line.is_text and line.form is not Form.QUOTE:
            continue
        story = line.text.strip().lstrip(">*_ ")
        bare = story.casefold()
        if bare.startswith(("as a ", "as an ", "as the ")) and " want" in bare:
            return story.rstrip("*_ ")
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
    """Return Add, Modify or Delete, from a stated type or else from the description."""
    hinted = set(plain(hint).split())
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
    if words[0] in _CHANGES | _ADDS | _DELETES:
        return "Modify"
    return "Add"
