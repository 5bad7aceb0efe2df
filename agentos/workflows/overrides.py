"""Prompts and templates of a repository's own, in `.agentos/prompts` and `.agentos/templates`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentos.documents.headings import Topic, topic_of
from agentos.documents.lld import SECTION_TITLES, parse_lld
from agentos.documents.markdown import scan, sections
from agentos.errors import BadInput, UsageError
from agentos.files import list_names, read_regular
from agentos.task import DRAFTING, Workflow
from agentos.workflows.prompts import load_prompt, load_template, render_prompt, split_prompt, used_inputs

PROMPTS = ".agentos/prompts"
TEMPLATES = ".agentos/templates"
LIMIT = 200_000

_PACKAGES = {
    Workflow.LLD: "agentos.workflows.lld",
    Workflow.ISSUE: "agentos.workflows.issue",
    Workflow.IMPLEMENTATION: "agentos.workflows.implementation",
}
_ROLES: Mapping[Workflow, Mapping[str, tuple[str, ...]]] = {
    Workflow.LLD: {"draft": ("issue", "previous_draft", "findings"), "review": ("issue", "draft")},
    Workflow.ISSUE: {"draft": ("brief", "previous_draft", "findings"), "review": ("brief", "draft")},
    Workflow.IMPLEMENTATION: {
        "review": ("design",),
        "tests": ("design", "test_files", "files", "problems", "previous_tests"),
        "code": ("design", "declared", "files", "tests", "feedback"),
    },
}
"""The prompts of each workflow, and the inputs without which nothing useful can come of them."""
PROMPT_NAMES = tuple(f"{workflow}-{role}.md" for workflow, roles in _ROLES.items() for role in roles)
TEMPLATE_NAMES = tuple(f"{workflow}.md" for workflow in DRAFTING)
_ISSUE_TOPICS = {
    Topic.USER_STORY: "User Story",
    Topic.OBJECTIVE: "Objective",
    Topic.REQUIREMENTS: "Requirements",
    Topic.CRITERIA: "Acceptance Criteria",
}
_MEANT_AS_PLACE = re.compile(r"(?<!\$)\{\{([^{}\n]{0,80})\}\}")


@dataclass(frozen=True, slots=True)
class Overrides:
    """The prompts and the template of one workflow in one repository: its own, or the built-in ones."""

    workflow: Workflow
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The repository's own ones, by role."""
    own_template: str | None = None

    @property
    def template(self) -> str:
        """Return the template that holds: the repository's own, else the built-in one."""
        return self.own_template or load_template(_PACKAGES[self.workflow], self.workflow)

    @property
    def paths(self) -> tuple[str, ...]:
        """Return where the repository's own ones are."""
        found = [_prompt_path(self.workflow, role) for role in self.prompts]
        return (*found, f"{TEMPLATES}/{self.workflow}.md") if self.own_template else tuple(found)

    def render(self, role: str, inputs: Mapping[str, str]) -> str:
        """Fill the prompt of a role that holds."""
        return render_prompt(_PACKAGES[self.workflow], role, inputs, self.prompts.get(role))


def load_overrides(repository: Path, workflow: Workflow) -> Overrides:
    """Read a repository's own prompts and template, or raise `UsageError` for one that cannot be used."""
    template = _read(repository, f"{TEMPLATES}/{workflow}.md") if workflow in DRAFTING else None
    if template is not None:
        _check_template(f"{TEMPLATES}/{workflow}.md", workflow, template)
    loaded = ((role, _load_prompt(repository, workflow, role)) for role in _ROLES[workflow])
    return Overrides(workflow, {role: text for role, text in loaded if text is not None}, template)


def load_for_item(repository: Path, workflow: Workflow) -> Overrides:
    """Read them while a batch runs: one that somebody has broken meanwhile is the fault of the item that meets it."""
    try:
        return load_overrides(repository, workflow)
    except UsageError as error:
        raise BadInput(str(error)) from error


def check_overrides(repository: Path, workflow: Workflow) -> Overrides:
    """Refuse, before anything runs, overrides that cannot be used and files there that no workflow would read."""
    for folder, known in ((PROMPTS, PROMPT_NAMES), (TEMPLATES, TEMPLATE_NAMES)):
        for name in sorted(list_names(repository / folder)):
            if name.casefold().endswith(".md") and name.casefold() != "readme.md" and name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
                raise UsageError(f"{folder}/{name!r}: no workflow reads it; {hint}")
    return load_overrides(repository, workflow)


def _prompt_path(workflow: Workflow, role: str) -> str:
    return f"{PROMPTS}/{workflow}-{role}.md"


def _load_prompt(repository: Path, workflow: Workflow, role: str) -> str | None:
    path = _prompt_path(workflow, role)
    text = _read(repository, path)
    if text is not None:
        _check_prompt(path, text, workflow, role)
    return text


def _check_prompt(path: str, text: str, workflow: Workflow, role: str) -> None:
    known, _ = load_prompt(_PACKAGES[workflow], role)
    declared, body = split_prompt(text)
    used = used_inputs(body)
    takes = f"this prompt can have {', '.join(sorted(known))}"
    if not text.startswith("inputs:"):
        raise UsageError(f"{path}: its first line must declare its inputs, as 'inputs: {', '.join(sorted(known))}'")
    if unknown := sorted(declared - known):
        raise UsageError(f"{path}: declares the unknown input {unknown[0][:60]!r}; {takes}")
    for meant in _MEANT_AS_PLACE.findall(body):
        if meant not in known:
            raise UsageError(f"{path}: uses {{{{{meant}}}}}, which is no input; {takes}")
    if undeclared := sorted(used - declared):
        raise UsageError(f"{path}: uses {{{{{undeclared[0]}}}}} without declaring it; add it to the first line")
    for name in _ROLES[workflow][role]:
        if name not in used:
            raise UsageError(f"{path}: lacks {{{{{name}}}}}, without which nothing useful can come of it; add it")


def _check_template(path: str, workflow: Workflow, text: str) -> None:
    """Refuse a template whose drafts could never pass the mechanical check."""
    if workflow is Workflow.LLD:
        found = parse_lld(text).sections
        missing = [f"'## {number}. {title}'" for number, title in SECTION_TITLES.items() if number not in found]
    else:
        topics = {topic_of(section.title) for section in sections(scan(text))}
        missing = [f"'## {title}'" for topic, title in _ISSUE_TOPICS.items() if topic not in topics]
    if missing:
        raise UsageError(f"{path}: lacks {missing[0]}, which every draft must have; a template may add, not remove")


def _read(repository: Path, name: str) -> str | None:
    path = repository / name
    try:
        path.lstat()
        place = path.resolve(strict=True)
        if not place.is_relative_to(repository.resolve(strict=True)):
            raise UsageError(f"{name}: is a link that leaves the repository; copy the file there instead")
        text = read_regular(place, LIMIT).decode("utf-8-sig").replace("\r\n", "\n")
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise UsageError(f"{name}: is a link that leads nowhere; remove it") from None
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except BadInput as error:
        raise UsageError(f"{name}: {str(error).partition(': ')[2]}") from None
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{name}: cannot be read ({error}); correct it or remove it") from None
    if "\0" in text or not text.strip():
        raise UsageError(f"{name}: is empty or binary; write a prompt in it, or remove it")
    return text
