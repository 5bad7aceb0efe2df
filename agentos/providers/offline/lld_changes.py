"""Write section 2 of a design: files, dependencies, data, functions, flow, decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from keyword import iskeyword

from agentos.documents.headings import split_label
from agentos.documents.tables import render_table
from agentos.documents.words import STOP_WORDS, code_spans, keywords, share
from agentos.providers.offline.blueprint import Blueprint, Demand
from agentos.providers.offline.proofs import shorten
from agentos.providers.offline.sentences import VERBS, base_verb, split_claim

_FLAG = re.compile(r"--([a-z][a-z0-9-]{1,40})(?:[ =]([A-Za-z0-9][^\s`]{0,60}))?")
_DEFAULT = re.compile(r"default[^0-9`]{0,20}(\d{1,9})")
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]{1,30}_[A-Z0-9_]{1,60}\b")
_BLANK = re.compile(r"\{([a-z_]{2,40})\}")
_CODE_SPAN = re.compile(r"`[^`]{0,300}`")
_NAME = re.compile(r"^(?:[A-Z][a-z0-9]{1,30}){2,6}$")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]{0,30}")
_SKIPPED = STOP_WORDS | {"s", "t", "because", "than"}
_IMPERATIVES = frozenset(base_verb(verb) for verb in VERBS) | {"retain", "reduce", "add", "clean", "cleanup"}
_MOST_SIGNATURES = 60


def write_changes(blueprint: Blueprint) -> str:
    """Return section 2."""
    return "\n\n".join(
        [
            "## 2. Proposed Changes",
            f"### 2.1 Files Changed\n\n{_files(blueprint)}",
            f"### 2.2 Dependencies\n\n{_dependencies(blueprint)}",
            f"### 2.3 Data Structures\n\n{_structures(blueprint)}",
            f"### 2.4 Function Signatures\n\n{_signatures(blueprint)}",
            f"### 2.5 Logic Flow\n\n{_flow(blueprint)}",
            f"### 2.6 Technical Approach\n\n{_approach(blueprint)}",
            f"### 2.7 Architecture Decisions\n\n{_decisions(blueprint)}",
        ]
    )


def _files(blueprint: Blueprint) -> str:
    rows = [
        (f"`{change.path}`", change.change, change.description or _purpose(change.path, blueprint))
        for change in blueprint.files
    ]
    notes = []
    if not blueprint.issue.files:
        slug = "_".join(word.casefold() for word in _WORD.findall(blueprint.title)[:4]) or "change"
        notes.append(
            "The issue lists no files; decision: the change goes where the code that the requirements name lives "
            "today, and its tests get a file of their own. The implementer replaces nothing else."
        )
        rows.append((f"`tests/test_{slug}.py`", "Add", "The scenarios of section 10.1"))
    elif not blueprint.test_files:
        slug = "_".join(word.casefold() for word in _WORD.findall(blueprint.title)[:4]) or "change"
        rows.append((f"`tests/test_{slug}.py`", "Add", "The scenarios of section 10.1; the issue lists no test file"))
    if blueprint.refused_paths:
        notes.append(
            f"{len(blueprint.refused_paths)} path(s) of the issue lie outside the repository and were left out."
        )
    table = render_table(("File", "Change Type", "Description"), rows)
    return "\n\n".join([table, *notes])


def _purpose(path: str, blueprint: Blueprint) -> str:
    mine = [demand for demand in blueprint.demands if blueprint.homes.get(demand.id) == path]
    return f"Serves {', '.join(demand.id for demand in mine)}" if mine else "Named in the issue without a description"


def _dependencies(blueprint: Blueprint) -> str:
    stated = [f"- {text}" for text in blueprint.issue.dependencies]
    if stated:
        return "As the issue states them:\n\n" + "\n".join(stated)
    return "The issue states no dependencies; decision: no new package, the standard library and what is there already."


def _structures(blueprint: Blueprint) -> str:
    fields = list(_fields(blueprint))
    names = _class_names(blueprint)
    if not fields and not names:
        return (
            "The issue names no option, variable or record; decision: no new data structure. Values pass as "
            "arguments of the functions in 2.4."
        )
    lines = ["```python", "# Shape only, not the implementation"]
    if fields:
        lines += [
            "@dataclass(frozen=True)",
            f"class {_record_name(blueprint)}:",
            *(f"    {row}" for row in fields),
        ]
    for name, why in names:
        lines += ["", f"class {name}:", f'    """{shorten(why, 90)}"""']
    return "\n".join([*lines, "```"])


def _record_name(blueprint: Blueprint) -> str:
    words = [word.capitalize() for word in _WORD.findall(blueprint.title) if word.casefold() not in _SKIPPED]
    return "".join(words[:2]) + "Settings" if words else "Settings"


def _fields(blueprint: Blueprint) -> Iterator[str]:
    """Derive a field from each flag, environment variable and `{placeholder}` of the issue."""
    flags: dict[str, list[str]] = {}
    variables: dict[str, str] = {}
    blanks: dict[str, str] = {}
    notes = tuple(note.text for note in blueprint.issue.testing_notes)
    for text in (*blueprint.sentences[:500], *notes[:100]):
        for span in code_spans(text):
            for name, value in _FLAG.findall(span):
                flags.setdefault(name, []).append(value)
            for variable in _VARIABLE.findall(span):
                variables.setdefault(variable, text)
            for blank in _BLANK.findall(span):
                blanks.setdefault(blank, span)
    for name, values in list(flags.items())[:20]:
        yield _flag_field(name, [value for value in values if value], blueprint)
    for variable, text in list(variables.items())[:10]:
        yield f"{variable.casefold()}: str | None  # from {variable}: {shorten(text.replace('**', ''), 70)}"
    for blank, span in list(blanks.items())[:10]:
        if blank not in flags:
            yield f"{blank}: str  # fills `{shorten(span, 60)}`"


def _flag_field(name: str, values: list[str], blueprint: Blueprint) -> str:
    field = name.replace("-", "_")
    field = f"{field}_" if iskeyword(field) else field
    if not values:
        return f"{field}: bool = False  # --{name}"
    is_number = all(value.isdecimal() or value == "N" for value in values)
    for demand in blueprint.demands:
        found = _DEFAULT.search(demand.text) if f"--{name}" in demand.text else None
        if found and is_number:
            return f"{field}: int = {found[1]}  # --{name}, default as {demand.id} states"
    return f"{field}: {'int' if is_number else 'str'} | None = None  # --{name}"


def _class_names(blueprint: Blueprint) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for text in blueprint.sentences[:500]:
        for span in code_spans(text):
            if _NAME.match(span) and ("new " in text.casefold() or f"`{span}` class" in text):
                found.setdefault(span, " ".join(text.replace("**", "").split()))
    return list(found.items())[:12]


def _signatures(blueprint: Blueprint) -> str:
    by_file: dict[str, list[Demand]] = {}
    for demand in blueprint.demands[:_MOST_SIGNATURES]:
        by_file.setdefault(blueprint.homes.get(demand.id, ""), []).append(demand)
    blocks = []
    used: set[str] = set()
    for path, demands in by_file.items():
        blocks.append("\n".join(_file_signatures(path, demands, used)))
    note = "One function for each requirement, in the file whose description fits it best; names may be merged.\n\n"
    return note + "\n\n".join(blocks)


def _file_signatures(path: str, demands: list[Demand], used: set[str]) -> Iterator[str]:
    is_script = path.endswith((".ts", ".tsx", ".js", ".jsx"))
    is_python = path.endswith(".py") or not path
    language = "typescript" if is_script else "python" if is_python else "text"
    mark = "//" if is_script else "#"
    yield f"```{language}"
    yield f"{mark} In {path}" if path else f"{mark} In the module that serves the requirement today"
    for demand in demands:
        name = _function_name(demand, used)
        arguments = [blank for span in code_spans(demand.text) for blank in _BLANK.findall(span)]
        arguments = list(dict.fromkeys(arguments))
        about = f"{demand.id}: {shorten(demand.text.rstrip('.'), 80)}"
        if is_script:
            camel = re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)
            yield f"function {camel}({', '.join(f'{a}: string' for a in arguments)}): void  // {about}"
        elif is_python:
            yield f"def {name}({', '.join(f'{a}: str' for a in arguments)}) -> {_result(demand)}:"
            yield f'    """{about.rstrip(" …")}."""'
        else:
            yield f"{about}"
    yield "```"


def _result(demand: Demand) -> str:
    verb = base_verb(split_claim(demand.text).effect)
    if verb in ("return", "show", "print", "list", "display", "report", "export", "answer"):
        return "str"
    return "bool" if verb in ("refuse", "reject", "validate", "check", "accept") else "None"


def _function_name(demand: Demand, used: set[str]) -> str:
    """Name a function by the verb of its requirement and what the verb is about."""
    claim = split_claim(demand.text)
    verb = base_verb(claim.effect) if claim.subject or claim.condition else ""
    about = claim.effect if verb else f"{claim.subject} {claim.effect}"
    words = [word.casefold() for word in _WORD.findall(_CODE_SPAN.sub(" ", about).replace("'s", ""))]
    words = [word for word in words if word not in _SKIPPED and not (verb and base_verb(word) == verb)]
    if not words:
        words = [word.casefold() for span in code_spans(demand.text) for word in _WORD.findall(span)]
    if not verb and words and words[0] in _IMPERATIVES:
        verb, words = words[0], words[1:]
    parts = [verb if verb.isalpha() and verb.isascii() else "provide", *words[:3]]
    name = "_".join(parts) if len(parts) > 1 else f"{parts[0]}_{demand.id.casefold()}"
    if name in used:
        name = f"{name}_{demand.id.casefold()}"
    used.add(name)
    return name


def _flow(blueprint: Blueprint) -> str:
    lines = ["```text"]
    scenarios = blueprint.issue.scenarios
    if not scenarios:
        lines += ["The issue walks through no scenario; the order below follows its requirements."]
        for number, demand in enumerate(blueprint.demands[:40], 1):
            claim = split_claim(demand.text)
            condition = f"IF {claim.condition} THEN " if claim.condition else ""
            said = f"{claim.subject} {claim.effect}".strip() if claim.condition else demand.text
            lines.append(f"{number}. {condition}{shorten(said, 140)}   [{demand.id}]")
        return "\n".join([*lines, "```"])
    failing = {path.number: path for path in blueprint.failures}
    for number, scenario in enumerate(scenarios[:20], 1):
        head = "ON FAILURE" if number in failing else "PATH"
        lines.append(f"{head} {number}: {shorten(scenario.title, 100)}")
        lines += [f"  {n}. {shorten(step, 140)}" for n, step in enumerate(scenario.steps[:30], 1)]
    return "\n".join([*lines, "```"])


def _approach(blueprint: Blueprint) -> str:
    modules = ", ".join(f"`{change.path}`" for change in blueprint.code_files[:12])
    lines = [f"* **Modules:** {modules or 'the module that serves the requirements today; the issue names none'}"]
    if blueprint.issue.technical_approach:
        lines += [f"* {text}" for text in blueprint.issue.technical_approach]
    else:
        lines.append(
            "* **Approach:** The issue states none; decision: the smallest change to existing code that makes every "
            "scenario of 10.1 pass, without a new layer."
        )
    served = _served(blueprint)
    if len(served) > 1:
        rows = [(f"`{path}`", ", ".join(ids)) for path, ids in served.items()]
        lines += ["", render_table(("File", "Requirements it serves"), rows)]
    return "\n".join(lines)


def _served(blueprint: Blueprint) -> dict[str, list[str]]:
    served: dict[str, list[str]] = {}
    for demand in blueprint.demands:
        if demand.id in blueprint.homes:
            served.setdefault(blueprint.homes[demand.id], []).append(demand.id)
    return served


def _serves(text: str, blueprint: Blueprint) -> str:
    words = keywords(text)
    scored = [(share(keywords(demand.text), words), demand.id) for demand in blueprint.demands[:200]]
    best = sorted((pair for pair in scored if pair[0] >= 0.3), key=lambda pair: -pair[0])[:4]
    return f"Proposed by the issue; serves {', '.join(id for _, id in best)}" if best else "Proposed by the issue"


def _decisions(blueprint: Blueprint) -> str:
    rows = []
    for text in blueprint.issue.technical_approach[:12]:
        label, value = split_label(text)
        options = "The proposal; the present way"
        rows.append((label or shorten(text, 40), options, value or text, _serves(text, blueprint)))
    if not rows:
        where = ", ".join(f"`{change.path}`" for change in blueprint.code_files[:4]) or "the code that does it today"
        why = "The issue proposes no structure; the least change is the easiest to review"
        rows.append(("Where the change lives", "Existing modules; a new layer", where, why))
    left_out = "; ".join(shorten(text.replace("**", ""), 80) for text in blueprint.issue.out_of_scope[:6])
    scope = ("Scope", "Requirements only; also what is near", "Section 3 only")
    rows.append((*scope, f"Out of scope: {left_out}" if left_out else "The issue asks for nothing more"))
    constraints = [f"- {text}" for text in blueprint.issue.risks[:12]]
    table = render_table(("Decision", "Options Considered", "Choice", "Rationale"), rows)
    if constraints:
        return f"{table}\n\n**Architectural constraints:**\n\n" + "\n".join(constraints)
    return table
