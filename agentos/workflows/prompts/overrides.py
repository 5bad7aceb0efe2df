"""Load a repository's own prompts and templates from `.agentos/prompts` and
`.agentos/templates`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from agentos.documents.headings import Topic, topic_of
from agentos.documents.lld import SECTION_TITLES, parse_lld
from agentos.documents.markdown import scan, sections
from agentos.errors import BadInput, UsageError
from agentos.gateway.providers import Message, ask_once
from agentos.kinds import BUILT_IN_KINDS, DOCUMENT_INPUTS, Kind, installed_kinds
from agentos.state.files import list_names, read_regular
from agentos.workflows.prompts.rendering import (
    load_prompt,
    load_template,
    render_parts,
    split_prompt,
    used_inputs,
)

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
        found = [_prompt_path(self.kind, role) for role in self.prompts]
        if self.own_template:
            found.append(_template_path(self.kind))
        return tuple(found)

    def uses(self, role: str, name: str) -> bool:
        """Tell whether the prompt of a role has a place for an input."""
        override = self.prompts.get(role)
        if override is not None:
            return name in used_inputs(override)
        return name in load_prompt(self.kind.record.package, role).inputs

    def render(self, role: str, inputs: Mapping[str, str]) -> tuple[Message, ...]:
        """Fill the prompt of a role; a cache may keep what all rounds repeat."""
        override = self.prompts.get(role)
        package = self.kind.record.package
        if override is None and not self.kind.record.builds:
            # A prompt of a document uses of its inputs what it needs.
            declared = load_prompt(package, role).inputs
            inputs = {name: inputs[name] for name in inputs if name in declared}
        repeated, rest = render_parts(package, role, inputs, override)
        return ask_once(repeated + rest, len(repeated))


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
    for folder, names_of in ((PROMPTS, _prompt_names), (TEMPLATES, _template_names)):
        known = names_of(BUILT_IN_KINDS)
        for name in sorted(list_names(repository / folder)):
            folded = name.casefold()
            if not folded.endswith(".md") or folded == "readme.md" or name in known:
                continue
            known = names_of(installed_kinds())
            if name in known:
                continue
            hint = f"known are {', '.join(known)}"
            close = difflib.get_close_matches(name, known, n=1)
            if close:
                hint = f"did you mean {close[0]}?"
            raise UsageError(f"{folder}/{name!r}: no workflow reads it; {hint}")
    return load_overrides(repository, kind)


def _prompt_names(kinds: Iterable[Kind]) -> list[str]:
    names = []
    for kind in kinds:
        names += [f"{kind}-{role}.md" for role in kind.record.prompts]
    return names


def _template_names(kinds: Iterable[Kind]) -> list[str]:
    return [f"{kind}.md" for kind in kinds if not kind.record.builds]


def _check_package(kind: Kind) -> None:
    """Refuse a kind whose package lacks its flow, a prompt or the template."""
    record = kind.record
    try:
        package = import_module(record.package)
        if not hasattr(package, "make_flow"):
            raise ValueError("it has no flow")
        for role in record.prompts:
            declared = load_prompt(record.package, role).inputs
            given = {"item", record.source, *DOCUMENT_INPUTS.get(role, declared)}
            unknown = sorted(declared - given)
            if not record.builds and unknown:
                listed = ", ".join(sorted(given))
                raise ValueError(
                    f"the first line of prompts/{role}.md declares {unknown[0]}; the"
                    f" inputs are {listed}"
                )
        if not record.builds:
            load_template(record.package, kind)
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(
            f"kind {kind}: {error}; its package {record.package} must have"
            f" make_flow(), {_own_files(kind)}"
        ) from None


def _own_files(kind: Kind) -> str:
    files = [f"prompts/{role}.md" for role in kind.record.prompts]
    if not kind.record.builds:
        files.append(f"templates/{kind}.md")
    return ", ".join(files)


def _prompt_path(kind: Kind, role: str) -> str:
    return f"{PROMPTS}/{kind}-{role}.md"


def _template_path(kind: Kind) -> str:
    return f"{TEMPLATES}/{kind}.md"


def _check_prompt(path: str, text: str, kind: Kind, role: str) -> None:
    known = load_prompt(kind.record.package, role).inputs
    if not kind.record.builds:
        known |= set(DOCUMENT_INPUTS[role])
    declared, body, _ = split_prompt(text)
    used = used_inputs(body)
    listed = ", ".join(sorted(known))
    takes = f"this prompt can have {listed}"
    if not text.startswith("inputs:"):
        raise UsageError(
            f"{path}: its first line must declare its inputs, as 'inputs: {listed}'"
        )
    unknown = sorted(declared - known)
    if unknown:
        raise UsageError(
            f"{path}: declares the unknown input {unknown[0][:60]!r}; {takes}"
        )
    for name in _PLACEHOLDER_LIKE.findall(body):
        if name not in known:
            raise UsageError(
                f"{path}: uses {{{{{name}}}}}, which is not an input; {takes}"
            )
    undeclared = sorted(used - declared)
    if undeclared:
        raise UsageError(
            f"{path}: uses {{{{{undeclared[0]}}}}} without declaring it; add it to the"
            " first line"
        )
    for name in kind.record.prompts[role]:
        if name not in used:
            raise UsageError(
                f"{path}: lacks {{{{{name}}}}}, without which nothing useful can come"
                " of it; add it"
            )


def _check_template(path: str, kind: Kind, text: str) -> None:
    """Refuse a template whose drafts could never pass the mechanical check."""
    missing = []
    if kind == Kind.LLD:
        found = parse_lld(text).sections
        for number, title in SECTION_TITLES.items():
            if number not in found:
                missing.append(f"'## {number}. {title}'")
    elif kind == Kind.ISSUE:
        topics = {topic_of(section.title) for section in sections(scan(text))}
        for topic, title in _ISSUE_TOPICS.items():
            if topic not in topics:
                missing.append(f"'## {title}'")
    else:
        titles = _titles(text)
        wanted = _titles(load_template(kind.record.package, kind))
        missing += [f"'## {title}'" for title in wanted if title not in titles]
    if missing:
        raise UsageError(
            f"{path}: lacks {missing[0]}, which every draft must have; a template may"
            " add, not remove"
        )


def _titles(text: str) -> list[str]:
    """Return the titles of the sections directly below the document's own."""
    found = sections(scan(text))
    return [section.title for section in found if section.level == 2]


def _read(repository: Path, name: str) -> str | None:
    path = repository / name
    try:
        path.lstat()
        place = path.resolve(strict=True)
        if not place.is_relative_to(repository.resolve(strict=True)):
            raise UsageError(
                f"{name}: is a link that leaves the repository; copy the file there"
                " instead"
            )
        text = read_regular(place, LIMIT).decode("utf-8-sig").replace("\r\n", "\n")
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
        raise UsageError(f"{name}: {str(error).partition(': ')[2]}") from None
    except (OSError, RuntimeError) as error:
        raise UsageError(
            f"{name}: cannot be read ({error}); correct it or remove it"
        ) from None
    if "\0" in text or not text.strip():
        raise UsageError(
            f"{name}: is empty or binary; write a prompt in it, or remove it"
        )
    return text
