"""Draft and revise an issue from a brief, by rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentos.documents.brief import Brief, parse_brief
from agentos.documents.findings import Finding
from agentos.documents.markdown import scan, sections, split_lines
from agentos.documents.words import code_spans
from agentos.providers.offline.blueprint import looks_like_path
from agentos.providers.offline.defusing import defuse
from agentos.providers.offline.proofs import shorten
from agentos.providers.offline.sentences import VERBS, base_verb
from agentos.providers.offline.signals import raised_signals

NOTICE = (
    "> Drafted by rules from the words of the brief; no language model was asked. What the brief does not say is "
    "marked as a decision."
)
_ROLES = (
    "librarian",
    "borrower",
    "member",
    "volunteer",
    "developer",
    "operator",
    "administrator",
    "admin",
    "customer",
    "reader",
    "visitor",
    "user",
)
_BASES = frozenset(base_verb(verb) for verb in VERBS) - {""} | frozenset(
    ("send", "remind", "tell", "warn", "offer", "hide")
)
_MOST = 200
_WISHING = ("i want to ", "we want to ", "we want ", "i want ", "please ", "it should ", "there should be ")


def draft_issue(item: str, text: str) -> str:
    """Return a whole issue with the parts that a design is made from."""
    brief = _bounded(defuse(parse_brief(text)))
    role = find_role(brief)
    title = brief.title or "Untitled brief"
    parts = [
        f"# {item} - {title}",
        NOTICE,
        f"## User Story\n\n{_story(brief, role)}",
        f"## Objective\n\n{_objective(brief)}",
        f"## Context\n\n{_context(brief)}",
        f"## UX Flow\n\n### Scenario 1: {title}\n\n{_main_path(brief, role)}",
        f"## Requirements\n\n{_requirements(brief)}",
        "## Technical Approach\n\n- The brief states none; decision: left to the low-level design.",
        f"## Security Considerations\n\n{_security(brief)}",
        f"## Files to Create/Modify\n\n{_files(brief)}",
        "## Dependencies\n\n- None that the brief names.",
        f"## Out of Scope\n\n{_out_of_scope(brief)}",
        f"## Acceptance Criteria\n\n{_criteria(brief, role)}",
        "## Definition of Done\n\n- [ ] Every acceptance criterion has an automated test that passes\n"
        "- [ ] What a user sees of this change is documented",
        f"## Testing Notes\n\n{_testing(brief)}",
    ]
    return "\n\n".join(parts) + "\n"


def _bounded(brief: Brief) -> Brief:
    """Take up as much of a brief as one issue can hold; the review names what is left."""
    return replace(
        brief,
        wishes=brief.wishes[:_MOST],
        constraints=brief.constraints[:_MOST],
        failures=brief.failures[:_MOST],
    )


def revise_issue(previous: str, text: str, findings: Sequence[Finding]) -> str:
    """Return the previous draft with what the findings name mended where a rule can."""
    brief = defuse(parse_brief(text))
    role = find_role(brief)
    issue = previous
    for finding in findings:
        if finding.id == "failure-scenario":
            issue = _append_to(issue, "UX Flow", _failure_paths(brief, role))
            issue = _append_to(issue, "Acceptance Criteria", _failure_criteria(brief))
        elif finding.id.startswith("wish-W"):
            number = finding.id.removeprefix("wish-W")
            wishes = (*brief.wishes, *brief.constraints)
            if number.isdecimal() and 0 < int(number) <= len(wishes):
                wish = wishes[int(number) - 1]
                issue = _append_to(issue, "Requirements", f"- {wish}")
                issue = _append_to(issue, "Acceptance Criteria", f"- [ ] {as_criterion(wish, role)}")
        elif finding.text not in issue:
            issue = _append_to(issue, "Testing Notes", f"- Review ({finding.id}): {' '.join(finding.text.split())}")
    return issue


def _append_to(text: str, title: str, addition: str) -> str:
    """Add lines at the end of a section, or the section at the end of the document."""
    rows = split_lines(text.rstrip("\n"))
    if not addition or addition.strip() in text:
        return text
    for section in sections(scan(text.rstrip("\n"))):
        if section.title == title and section.level == 2:
            end = section.line + len(section.whole)
            while end > section.line and not rows[end - 1].strip():
                end -= 1
            gap = [""] if addition.startswith("#") else []
            rows[end:end] = [*gap, *addition.split("\n")]
            return "\n".join(rows) + "\n"
    return text.rstrip("\n") + f"\n\n## {title}\n\n{addition}\n"


def find_role(brief: Brief) -> str:
    """Return for whom the brief speaks: the first role that it names."""
    words = [word.strip(".,;:()'\"").casefold() for word in brief.text[:20_000].split()]
    singular = {word.removesuffix("s") for word in words}
    return next((role for role in _ROLES if role in singular), "user")


def as_criterion(wish: str, role: str) -> str:
    """Turn a wish into a statement that is true or false: `Show x` becomes `The product shows x`."""
    text = wish.strip().rstrip(".")
    lowered = text.casefold()
    for opening in _WISHING:
        if lowered.startswith(opening):
            text = text[len(opening) :]
            if opening.endswith("to "):
                return f"A {role} can {text}"
            break
    first, _, rest = text.partition(" ")
    verb = first.casefold()
    if verb in _BASES and rest:
        return f"The product {_third_person(verb)} {rest}"
    return text[:1].upper() + text[1:]


def _third_person(verb: str) -> str:
    if verb.endswith(("ss", "sh", "ch", "x", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _story(brief: Brief, role: str) -> str:
    wish = brief.wishes[0] if brief.wishes else brief.title
    reason = _first_sentence(brief.problem[0]) if brief.problem else f"the outcome named in '{brief.title}' is reached"
    wanted = wish[:1].lower() + wish[1:] if wish[1:2].islower() else wish
    return f"As a {role},\nI want this: {wanted.rstrip('.')},\nSo that this no longer holds: {reason.rstrip('.')}."


def _objective(brief: Brief) -> str:
    lead = f"{brief.title}."
    return f"{lead} {_first_sentence(brief.problem[0])}" if brief.problem else lead


def _first_sentence(text: str) -> str:
    head, found, _ = text[:600].partition(". ")
    return head + "." if found else text[:600]


def _context(brief: Brief) -> str:
    return "\n\n".join(brief.problem[:10]) or "The brief describes no present state."


def _main_path(brief: Brief, role: str) -> str:
    steps = (
        [f"{role.capitalize()} meets the situation of the brief: {shorten(brief.problem[0], 160)}"]
        if brief.problem
        else []
    )
    steps += [as_criterion(wish, role) for wish in brief.wishes[:12]]
    return "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1)) or f"1. {role.capitalize()}: {brief.title}"


def _requirements(brief: Brief) -> str:
    wishes = brief.wishes or (brief.title,)
    text = "### Wishes\n\n" + "\n".join(f"{n}. {wish}" for n, wish in enumerate(wishes, 1))
    if brief.constraints:
        text += "\n\n### Constraints\n\n" + "\n".join(f"{n}. {rule}" for n, rule in enumerate(brief.constraints, 1))
    return text


def _security(brief: Brief) -> str:
    raised = raised_signals((*brief.wishes, *brief.constraints, *brief.problem))
    if not raised:
        return "- The brief raises no security concern; decision: no new permission, no new input from outside"
    return "\n".join(f"- {entry.signal.concern}: {entry.signal.mitigation}" for entry in raised[:6])


def _files(brief: Brief) -> str:
    paths = dict.fromkeys(span for span in code_spans(brief.text[:50_000]) if looks_like_path(span))
    named = [f"- `{path}` — Change as the requirements state" for path in list(paths)[:20]]
    return "\n".join(named) or "The brief names no file; decision: the low-level design lists them."


def _out_of_scope(brief: Brief) -> str:
    negative = ("not ", "no ", "never ", "without ")
    lowered = ((rule, rule.casefold()) for rule in brief.constraints)
    left = [rule for rule, text in lowered if text.startswith(negative) and not text.startswith("no more")]
    return "\n".join(f"- {rule}" for rule in left) or "- Everything that no requirement above names"


def _criteria(brief: Brief, role: str) -> str:
    wishes = brief.wishes or (brief.title,)
    rows = [f"- [ ] {as_criterion(wish, role)}" for wish in wishes]
    rows += [f"- [ ] Kept: {rule.rstrip('.')}" for rule in brief.constraints]
    return "\n".join(rows)


def _testing(brief: Brief) -> str:
    if brief.failures:
        return "\n".join(f"- **Force:** {failure}" for failure in brief.failures)
    return "- The brief names no state to force; decision: the scenario above and its opposite are both tested"


def _failure_paths(brief: Brief, role: str) -> str:
    blocks = []
    for number, failure in enumerate(brief.failures or ("The input is wrong or the step cannot be done",), 2):
        blocks.append(
            f"### Scenario {number}: Failure - {shorten(failure.rstrip('.'), 80)}\n\n"
            f"1. {role.capitalize()} does the same as in scenario 1\n"
            f"2. This goes wrong: {failure.rstrip('.')}\n"
            "3. System tells what went wrong, with which input, and what to do now\n"
            "4. System leaves everything as it was before"
        )
    return "\n\n".join(blocks)


def _failure_criteria(brief: Brief) -> str:
    failures = brief.failures or ("the step cannot be done",)
    return "\n".join(
        f"- [ ] When this goes wrong, the product names the cause and changes nothing else: {failure.rstrip('.')}"
        for failure in failures
    )
