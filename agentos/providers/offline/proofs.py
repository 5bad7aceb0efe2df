"""Derive test scenarios with a concrete input and a concrete result from the issue's own words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentos.documents.bounds import Bound
from agentos.documents.failures import FailurePath
from agentos.documents.words import Figure, code_spans, figures, keywords, likeness, share, stem
from agentos.providers.offline.blueprint import Blueprint, Demand, Walk, looks_like_path, measured_promises
from agentos.providers.offline.sentences import Claim, is_option, split_claim

HEADER = ("ID", "Scenario", "Type", "Input", "Expected Output", "Pass Criteria", "Requirement")
_DENIALS = frozenset(("no", "not", "never", "neither", "don't", "doesn't", "cannot", "nothing"))
_CHANGES = frozenset(stem(word) for word in ("affect", "change", "modify", "touch", "alter", "unchanged"))
_RELATIVES = frozenset(("that", "which", "who"))
_CODED = re.compile(r"\b(status|exit code|code) (\d{1,3})\b", re.IGNORECASE)
_CODE = re.compile(r"`[^`]{0,300}`")


@dataclass(frozen=True, slots=True)
class Proof:
    """One row of the scenario table, without its id."""

    name: str
    input: str
    expected: str
    pass_criteria: str
    requirements: tuple[str, ...]

    def cells(self, id: str) -> tuple[str, ...]:
        """Return the row as cells."""
        return (
            id,
            self.name,
            "Auto",
            self.input,
            self.expected,
            self.pass_criteria,
            ", ".join(self.requirements),
        )


def prove(demand: Demand, blueprint: Blueprint) -> Proof:
    """Return the scenario that shows one requirement."""
    claim = split_claim(demand.text)
    walk = blueprint.walk_for(demand.text)
    shown = _shown(demand.text, walk, blueprint)
    return Proof(
        name=shorten(demand.text, 90),
        input=_input(claim, walk, demand, blueprint),
        expected=_expected(claim, shown),
        pass_criteria=_pass_criteria(demand.text, claim, shown, blueprint),
        requirements=(demand.id,),
    )


def prove_bound(demand: Demand, bound: Bound) -> tuple[Proof, ...]:
    """Return one scenario at a limit and one just beyond it."""
    unit = f" {bound.unit}" if bound.unit else ""
    limit, beyond = f"{bound.value}{unit}", f"{bound.beyond}{unit}"
    word = "upper" if bound.is_upper else "lower"
    inside, outside = _sides(demand, bound)
    return (
        Proof(
            f"At the {word} limit of {demand.id}: {limit}",
            f"Exactly {limit}, all else as in the scenario of {demand.id}",
            inside,
            f"Same result as for a value well inside the limit; {limit} is not treated as too far",
            (demand.id,),
        ),
        Proof(
            f"Just beyond the {word} limit of {demand.id}: {beyond}",
            f"Exactly {beyond}, all else as in the scenario of {demand.id}",
            f"{outside}: {shorten(demand.text, 120)}",
            f"The result differs from the row above in the way {demand.id} states; a message, if there is one, names "
            f"{bound.value}",
            (demand.id,),
        ),
    )


def prove_failure(path: FailurePath, blueprint: Blueprint, demands: tuple[Demand, ...]) -> Proof:
    """Return the scenario that walks through a failure of the issue."""
    before = "; ".join(path.scenario.steps[: path.step + 1])
    forced = blueprint.forced_by(f"{path.scenario.title} {path.cause}")
    after = "; ".join(path.outcome) or path.cause
    printed = [span for span in path.literals if not blueprint.is_command(span)]
    quoted = [f"Output contains `{span}`" for span in printed[:3]]
    return Proof(
        name=f"Failure: {shorten(path.scenario.title, 80)}",
        input=before + (f" (forced: {forced})" if forced else ""),
        expected=after,
        pass_criteria="; ".join(quoted) or "Each step of the expected output is asserted on, in this order",
        requirements=(_nearest(path, demands).id,),
    )


def shorten(text: str, limit: int) -> str:
    """Cut text at a word, never inside backticks."""
    flat = text[: 4 * limit].replace("\n", " ").strip()
    if len(flat) <= limit:
        return flat
    cut = flat[:limit].rsplit(" ", 1)[0].rstrip(",;:( ")
    if cut.count("`") % 2:
        cut = cut[: cut.rindex("`")].rstrip(",;:( ")
    return f"{cut} …" if cut else flat[: limit - 1] + "…"


def _sides(demand: Demand, bound: Bound) -> tuple[str, str]:
    """Return what happens at a limit and beyond it, as far as the requirement tells."""
    lowered = demand.text.casefold()
    if any(word in lowered for word in ("refus", "reject", "error", "exit code", "denied", "status 4")):
        return f"Accepted; the refusal of {demand.id} does not happen", "Refused as stated"
    if any(word in lowered for word in ("cap", "truncat", " cut ")):
        return f"{bound.value} is used as given", f"Brought back to {bound.value}"
    if f"< {bound.value}" in demand.text:
        return "The limit is not crossed: nothing happens yet", "The limit is crossed: the stated reaction happens"
    return f"Allowed, as {demand.id} includes the limit itself", "Not allowed any more, by the rule"


def _nearest(path: FailurePath, demands: tuple[Demand, ...]) -> Demand:
    words = keywords(f"{path.scenario.title} {path.cause} {' '.join(path.outcome)}")
    return max(demands, key=lambda demand: likeness(keywords(demand.text), words))


def _input(claim: Claim, walk: Walk | None, demand: Demand, blueprint: Blueprint) -> str:
    spans = code_spans(demand.text)
    commands = [span for span in spans if blueprint.is_command(span)]
    options = [span for span in spans if is_option(span)]
    parts: list[str] = []
    if commands:
        parts.append(f"`{commands[0]}`")
    elif options and blueprint.main_command:
        parts.append(_with_option(options[0], demand.text, blueprint))
    elif walk is not None:
        parts.append(walk.scenario.steps[0])
        if walk.step > 1 and not _is_output(walk.scenario.steps[walk.step - 1]):
            parts.append(walk.scenario.steps[walk.step - 1])
    else:
        parts.append(_way_in(demand, blueprint))
    if claim.condition:
        parts.append(claim.condition)
    elif claim.subject and not (commands or options) and not (walk and _is_walked(claim.subject, walk)):
        parts.append(f"observe: {_lower_first(claim.subject)}")
    forced = blueprint.forced_by(demand.text)
    if forced:
        parts.append(f"forced: {forced}")
    symbols = [span for span in spans if not any(letter.isalnum() for letter in span)]
    if len(symbols) > 1:
        parts.append(f"tried with each of {', '.join(f'`{span}`' for span in symbols)}")
    return "; ".join(dict.fromkeys(part for part in parts if part))


def _way_in(demand: Demand, blueprint: Blueprint) -> str:
    command = blueprint.command_for(demand.text)
    if command:
        return f"`{command}`"
    home = blueprint.homes.get(demand.id)
    return f"Direct call into `{home}`" if home else f"The fixture of 5.3 for {demand.id}"


def _with_option(option: str, text: str, blueprint: Blueprint) -> str:
    name = option.split(" ", 1)[0]
    with_it = [command for command in blueprint.commands if name in command.split(" ")]
    if f"without `{option}`" in text:
        return f"`{blueprint.main_command}` without `{option}`"
    if with_it and option == name:
        return f"`{with_it[0]}`"
    return f"`{(with_it or [blueprint.main_command])[0].split(' --', 1)[0]} {option}`"


def _is_output(step: str) -> bool:
    return step.casefold().startswith(("console", "response", "output", "summary", "screen"))


def _is_walked(subject: str, walk: Walk) -> bool:
    return keywords(subject) <= _walk_words(walk)


def _walk_words(walk: Walk) -> frozenset[str]:
    return keywords(" ".join(walk.scenario.steps[: walk.step + 1]))


def _expected(claim: Claim, shown: str) -> str:
    subject = claim.subject
    is_typed = not subject or (subject.startswith("`") and " " in subject) or is_option(subject.strip("`"))
    stated = claim.effect if is_typed else f"{subject} {claim.effect}"
    return _upper_first(stated) + (f"; shown: `{shown}`" if shown and shown not in stated else "")


def _shown(text: str, walk: Walk | None, blueprint: Blueprint) -> str:
    """Return what the matched step, or the one after it, prints word for word."""
    if walk is None:
        return ""
    said = keywords(text)
    steps = walk.scenario.steps
    near = share(said, keywords(f"{walk.scenario.title} {steps[walk.step]}")) >= 0.5
    for offset, step in enumerate(steps[walk.step : walk.step + 3]):
        printed = [span for span in code_spans(step) if _is_printed(span, blueprint)]
        common = len(said & keywords(step))
        follows = near and walk.step > 0 and common > 0
        if printed and (follows or (offset == 0 and common >= 3)):
            return printed[0]
    return ""


def _is_printed(span: str, blueprint: Blueprint) -> bool:
    return " " in span and not blueprint.is_command(span) and not is_option(span)


def _pass_criteria(text: str, claim: Claim, shown: str, blueprint: Blueprint) -> str:
    found = [f"{kind.capitalize()} is exactly {value}" for kind, value in _CODED.findall(text)]
    promised = measured_promises(text)
    if promised:
        found.append(f"Measured: {', '.join(figure.text for figure in promised)}; beyond it the test fails")
    counted = _counted(claim.effect, promised)
    if counted:
        found.append(f"Counted: {', '.join(counted)}")
    denied = _denied(text, claim)
    literals = [span for span in code_spans(text) if not blueprint.is_command(span)]
    found.extend(_literal_check(span, bool(denied)) for span in literals[:3] if _is_telling(span))
    if shown and shown not in literals:
        found.append(f"Output contains `{shown}`")
    if denied:
        found.append(denied)
    if not found:
        related = _related_literal(text, blueprint)
        if related:
            found.append(_literal_check(related, False))
    return "; ".join(found) or f"Asserts on: {', '.join(_key_words(claim.effect or text))}"


def _counted(effect: str, promised: list[Figure]) -> list[str]:
    spoken = _CODED.sub(" ", _CODE.sub(" ", effect))
    timed = {figure.text for figure in promised}
    plain = (figure for figure in figures(spoken) if figure.unit not in ("%", "b") and figure.text not in timed)
    return [figure.text for figure in plain if figure.unit or not 1900 <= figure.value <= 2100]


def _is_telling(span: str) -> bool:
    return any(letter.isalnum() for letter in span)


def _denied(text: str, claim: Claim) -> str:
    """Turn a denial into something that a test can look for."""
    words = text.split()
    for position, word in enumerate(words):
        before = {earlier.casefold() for earlier in words[max(0, position - 2) : position]}
        if word.casefold().strip(",.;") not in _DENIALS or before & _RELATIVES:
            continue
        if keywords(text) & _CHANGES:
            return "State before and after is compared; a difference outside the named change fails the test"
        rest = " ".join(words[position + 1 :])
        if position == 0 and claim.subject:
            thing = " ".join(claim.effect.split()[1:])
            return f"Searched in every {claim.subject.partition(' ')[2]} and not found: {shorten(thing, 80)}"
        return f"Absent: {shorten(rest, 80)}" if len(keywords(rest)) > 1 else ""
    return ""


def _literal_check(span: str, is_denied: bool) -> str:
    if is_option(span):
        return f"`{span}` is accepted and does what the expected output says"
    if "(" in span:
        return f"`{span}` is called directly by the test"
    if "/" in span and (looks_like_path(span) or span.startswith(("~", "/")) or span.endswith("/")):
        return f"`{span}` is looked up under exactly this name"
    if is_denied and span.isidentifier():
        return f"`{span}` is looked for"
    return f"`{span}` is asserted on by name" if span.isidentifier() else f"`{span}` is found literally"


def _related_literal(text: str, blueprint: Blueprint) -> str:
    """Return what another sentence of the issue quotes about the same thing."""
    words = keywords(text)
    for demand in blueprint.demands[:200]:
        if demand.text != text and share(words, keywords(demand.text)) >= 0.6:
            spans = [span for span in code_spans(demand.text) if not blueprint.is_command(span)]
            if spans:
                return spans[0]
    return ""


def _key_words(text: str) -> list[str]:
    words = (word.strip("`.,;:()'\"") for word in text.split())
    return list(dict.fromkeys(word for word in words if keywords(word)))[:5]


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lower_first(text: str) -> str:
    is_name = text[1:2].isupper() or text.startswith("`")
    return text if is_name else text[:1].lower() + text[1:]
