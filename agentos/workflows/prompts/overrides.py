"""Load a repository's own prompts and templates from `.agentos/prompts` and
`.agentos/templates`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from agentos.documents.headings import Topic, topic_of
from agentos.documents.lld import SECTION_TITLES, parse_lld
from agentos.documents.markdown import scan, sections
from agentos.errors import BadInput, UsageError
from agentos.gateway.providers import Message, ask_once
from agentos.kinds import (
    BUILT_IN_KINDS,
    DOCUMENT_INPUTS,
    Kind,
    KindRecord,
    installed_kinds,
)
from agentos.state.files import list_names, read_regular
from agentos.workflows.prompts.rendering import (
    load_prompt,
    load_template,
    render_parts,
    split_prompt,
    used_inputs,
)

NamesOf = Callable[[Iterable[Kind]], Sequence[str]]
"""Returns the names of the files that some kinds read."""
PROMPTS = ".agentos/prompts"
TEMPLATES = ".agentos/templates"
LIMIT = 200_000

_ISSUE_TOPICS = {
    Topic.USER_STORY: "User Story",
    Topic.OBJECTIVE: "Objective",
    Topic.REQUIREMENTS: "Requirements",
    Topic.CRITERIA: "Acceptance Criteria",
}
_PLACEHOLDER_LIKE = re.compile(r"(?<!\$)\{\{([^{}\n]{0,80})\}\}")


@dataclass(frozen=True, slots=True)
class Overrides:
    """The prompts and the template of one kind in one repository: its own or the built-in
    ones.
    """

    kind: Kind
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The repository's own prompts by role."""
    own_template: str | None = None

    @property
    def template(self) -> str:
        """The repository's own template, or else the built-in one."""
        if self.own_template:
            return self.own_template
        return load_template(self.kind.record.package, self.kind)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the repository's own prompts and template."""
        found = []
        for role in self.prompts:
            path = _prompt_path(self.kind, role)
            found.append(path)
        if self.own_template:
            path = _template_path(self.kind)
            found.append(path)
        return tuple(found)

    def uses(self, role: str, name: str) -> bool:
        """Tell whether the prompt of a role has a place for an input."""
        override = self.prompts.get(role)
        if override is not None:
            return name in used_inputs(override)
        package = self.kind.record.package
        prompt = load_prompt(package, role)
        return name in prompt.inputs

    def render(self, role: str, inputs: Mapping[str, str]) -> tuple[Message, ...]:
        """Fill the prompt of a role; a cache may keep what all rounds repeat."""
        override = self.prompts.get(role)
        record = self.kind.record
        package = record.package
        used = dict(inputs)
        if override is None and not record.builds:
            # A prompt of a document uses of its inputs what it needs.
            prompt = load_prompt(package, role)
            for name in inputs.keys() - prompt.inputs:
                del used[name]
        repeated, rest = render_parts(package, role, used, override)
        length = len(repeated)
        return ask_once(repeated + rest, length)


def load_overrides(repository: Path, kind: Kind) -> Overrides:
    """Read a repository's own prompts and template, or raise `UsageError` for an unusable
    one.
    """
    template = None
    if not kind.record.builds:
        path = _template_path(kind)
        template = _read(repository, path)
        if template is not None:
            _check_template(path, kind, template)
    prompts = {}
    for role in kind.record.prompts:
        path = _prompt_path(kind, role)
        text = _read(repository, path)
        if text is not None:
            _check_prompt(path, text, kind, role)
            prompts[role] = text
    return Overrides(kind, prompts, template)


def load_for_item(repository: Path, kind: Kind) -> Overrides:
    """Read the overrides during a run; one that broke since the start fails only this
    item.
    """
    try:
        return load_overrides(repository, kind)
    except UsageError as error:
        raise BadInput(str(error)) from error


def check_overrides(repository: Path, kind: Kind) -> Overrides:
    """Refuse, before anything runs, unusable overrides and files that no kind reads."""
    if kind not in BUILT_IN_KINDS:
        _check_package(kind)
    _check_names(repository, PROMPTS, _prompt_names)
    _check_names(repository, TEMPLATES, _template_names)
    return load_overrides(repository, kind)


def _check_names(repository: Path, folder: str, names_of: NamesOf) -> None:
    """Refuse a Markdown file of a folder that no kind reads."""
    names = list_names(repository / folder)
    unknown = names.difference(names_of(BUILT_IN_KINDS))
    for name in sorted(unknown):
        folded = name.casefold()
        if folded == "readme.md":
            continue
        if not folded.endswith(".md"):
            continue
        # Only a name that is not built in is worth the search for packages.
        known = names_of(installed_kinds())
        if name not in known:
            hint = _suggest(name, known)
            raise UsageError(f"{folder}/{name!r}: no workflow reads it; {hint}")


def _suggest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean {close[0]}?"
    listed = ", ".join(known)
    return f"known are {listed}"


def _prompt_names(kinds: Iterable[Kind]) -> list[str]:
    names = []
    for kind in kinds:
        for role in kind.record.prompts:
            name = f"{kind}-{role}.md"
            names.append(name)
    return names


def _template_names(kinds: Iterable[Kind]) -> list[str]:
    names = []
    for kind in kinds:
        if not kind.record.builds:
            name = f"{kind}.md"
            names.append(name)
    return names


def _check_package(kind: Kind) -> None:
    """Refuse a kind whose package lacks its flow, a prompt or the template."""
    record = kind.record
    try:
        package = import_module(record.package)
        if not hasattr(package, "make_flow"):
            raise ValueError("it has no flow")
        for role in record.prompts:
            _check_declared(record, role)
        if not record.builds:
            load_template(record.package, kind)
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(
            f"kind {kind}: {error}; its package {record.package} must have"
            f" make_flow(), {_own_files(kind)}"
        ) from None


def _check_declared(record: KindRecord, role: str) -> None:
    """Raise `ValueError` for a document's prompt with an input that it cannot have."""
    prompt = load_prompt(record.package, role)
    declared = prompt.inputs
    if record.builds:
        return
    own = DOCUMENT_INPUTS.get(role, declared)
    given = {"item", record.source, *own}
    unknown = sorted(declared - given)
    if unknown:
        listed = ", ".join(sorted(given))
        raise ValueError(
            f"the first line of prompts/{role}.md declares {unknown[0]}; the"
            f" inputs are {listed}"
        )


def _own_files(kind: Kind) -> str:
    """Return the files that a kind's package must have."""
    files = []
    for role in kind.record.prompts:
        file = f"prompts/{role}.md"
        files.append(file)
    if not kind.record.builds:
        files.append(f"templates/{kind}.md")
    return ", ".join(files)


def _prompt_path(kind: Kind, role: str) -> str:
    return f"{PROMPTS}/{kind}-{role}.md"


def _template_path(kind: Kind) -> str:
    return f"{TEMPLATES}/{kind}.md"


def _check_prompt(path: str, text: str, kind: Kind, role: str) -> None:
    """Refuse a prompt that no run could fill, or that leaves out what it is about."""
    record = kind.record
    built_in = load_prompt(record.package, role)
    known = built_in.inputs
    if not record.builds:
        known = known.union(DOCUMENT_INPUTS[role])
    listed = ", ".join(sorted(known))
    if not text.startswith("inputs:"):
        raise UsageError(
            f"{path}: its first line must declare its inputs, as 'inputs: {listed}'"
        )
    takes = f"this prompt can have {listed}"
    declared, body, _ = split_prompt(text)
    unknown = sorted(declared - known)
    if unknown:
        name = unknown[0][:60]
        raise UsageError(f"{path}: declares the unknown input {name!r}; {takes}")
    for name in _PLACEHOLDER_LIKE.findall(body):
        if name not in known:
            shown = f"{{{{{name}}}}}"
            raise UsageError(f"{path}: uses {shown}, which is not an input; {takes}")
    used = used_inputs(body)
    undeclared = sorted(used - declared)
    if undeclared:
        shown = f"{{{{{undeclared[0]}}}}}"
        raise UsageError(
            f"{path}: uses {shown} without declaring it; add it to the first line"
        )
    for name in record.prompts[role]:
        if name not in used:
            raise UsageError(
                f"{path}: lacks {{{{{name}}}}}, without which nothing useful can come"
                " of it; add it"
            )


def _check_template(path: str, kind: Kind, text: str) -> None:
    """Refuse a template whose drafts could never pass the mechanical check."""
    missing = []
    if kind == Kind.LLD:
        design = parse_lld(text)
        found = design.sections
        for number, title in SECTION_TITLES.items():
            if number not in found:
                missing.append(f"'## {number}. {title}'")
    elif kind == Kind.ISSUE:
        lines = scan(text)
        topics = {topic_of(section.title) for section in sections(lines)}
        for topic, title in _ISSUE_TOPICS.items():
            if topic not in topics:
                missing.append(f"'## {title}'")
    else:
        titles = _titles(text)
        template = load_template(kind.record.package, kind)
        wanted = _titles(template)
        missing = [f"'## {title}'" for title in wanted if title not in titles]
    if missing:
        raise UsageError(
            f"{path}: lacks {missing[0]}, which every draft must have; a template may"
            " add, not remove"
        )


def _titles(text: str) -> list[str]:
    """Return the titles of the sections directly below the document's own."""
    lines = scan(text)
    found = sections(lines)
    return [section.title for section in found if section.level == 2]


def _read(repository: Path, name: str) -> str | None:
    """Return the text of a file of the repository, None if there is none."""
    path = repository / name
    try:
        path.lstat()
        root = repository.resolve(strict=True)
        place = path.resolve(strict=True)
        if not place.is_relative_to(root):
            raise UsageError(
                f"{name}: is a link that leaves the repository; copy the file there"
                " instead"
            )
        data = read_regular(place, LIMIT)
        text = data.decode("utf-8-sig")
        text = text.replace("\r\n", "\n")
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise UsageError(
                f"{name}: is a link that leads nowhere; remove it"
            ) from None
        return None
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name}: is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from None
    except BadInput as error:
        # The error names the file that a link leads to.
        said = str(error)
        problem = said.removeprefix(f"{place.name}: ")
        raise UsageError(f"{name}: {problem}") from None
    except (OSError, RuntimeError) as error:
        raise UsageError(
            f"{name}: cannot be read ({error}); correct it or remove it"
        ) from None
    if "\0" in text or not text.strip():
        raise UsageError(
            f"{name}: is empty or binary; write a prompt in it, or remove it"
        )
    return text
