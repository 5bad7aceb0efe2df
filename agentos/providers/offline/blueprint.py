"""Everything that the sections of a design are drawn from, gathered once from the issue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from agentos.documents.failures import FailurePath, failure_paths
from agentos.documents.hazards import unsafe_path
from agentos.documents.headings import split_label
from agentos.documents.issue import FileChange, Issue, Scenario, parse_issue
from agentos.documents.words import Figure, WordIndex, code_spans, figures, keywords, likeness, same_figures, share
from agentos.providers.offline.defusing import defuse
from agentos.providers.offline.sentences import is_request
from agentos.providers.offline.signals import Raised, raised_signals

MAX_DEMANDS = 400
_SAME_CLAIM = 0.6
_STEP_MATCHES = 0.34
_PROMISING = ("within ", "at most ", "under ", "less than ", "no more than ", "no longer than ", "faster than ")
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Demand:
    """A requirement of the design and where in the issue it comes from."""

    id: str
    text: str
    source: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Walk:
    """A step of one of the issue's scenarios."""

    scenario: Scenario
    step: int


@dataclass(frozen=True)
class Blueprint:
    """An issue together with what follows from it."""

    item: str
    issue: Issue

    @property
    def title(self) -> str:
        """Return the title, or words for its absence."""
        return self.issue.title or "Untitled issue"

    @property
    def objective(self) -> str:
        """Return what is to be reached, in the issue's words."""
        return self.issue.objective or self.title

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """Return criteria first, then requirements that say something the criteria do not."""
        index = WordIndex(self.issue.criteria)
        texts: list[tuple[str, str, str]] = [
            (text, f"acceptance criterion {n}", "") for n, text in enumerate(self.issue.criteria[:MAX_DEMANDS], 1)
        ]
        for number, requirement in enumerate(self.issue.requirements[:MAX_DEMANDS], 1):
            if not _is_said(requirement.text, self.issue.criteria, index):
                texts.append((requirement.text, f"requirement {number}", requirement.group))
        texts.extend(self._promises([text for text, _, _ in texts]))
        if not texts:
            texts.append((self.objective, "objective", ""))
        return tuple(Demand(f"R{n}", *parts) for n, parts in enumerate(texts[:MAX_DEMANDS], 1))

    def _promises(self, said: list[str]) -> list[tuple[str, str, str]]:
        """Return the measured promises that only a scenario of the issue makes."""
        known = {(figure.value, figure.unit) for text in said for figure in figures(text)}
        found = []
        for number, scenario in enumerate(self.issue.scenarios[:MAX_DEMANDS], 1):
            for step in scenario.steps:
                measured = {(f.value, f.unit) for f in measured_promises(step)}
                if measured - known:
                    found.append((step, f"scenario {number}", scenario.title))
                    known |= measured
        return found

    @cached_property
    def failures(self) -> tuple[FailurePath, ...]:
        """Return the failures that the issue describes."""
        return failure_paths(self.issue)[:MAX_DEMANDS]

    @cached_property
    def files(self) -> tuple[FileChange, ...]:
        """Return the files to touch; paths that leave the repository are left out."""
        named = tuple(change for change in self.issue.files if not unsafe_path(change.path))
        return named[:MAX_DEMANDS] or self._files_in_text

    @cached_property
    def refused_paths(self) -> tuple[str, ...]:
        """Return paths of the issue that no design may take up."""
        return tuple(change.path for change in self.issue.files if unsafe_path(change.path))

    @cached_property
    def _files_in_text(self) -> tuple[FileChange, ...]:
        spans = dict.fromkeys(
            span for text in self.sentences[:400] for span in code_spans(text) if looks_like_path(span)
        )
        return tuple(
            FileChange(path, "Modify", "Named in the issue's text; the issue has no list of files")
            for path in list(spans)[:20]
            if not unsafe_path(path)
        )

    @cached_property
    def code_files(self) -> tuple[FileChange, ...]:
        """Return the files that hold product code."""
        return tuple(change for change in self.files if is_code(change.path) and not is_test(change.path))

    @cached_property
    def test_files(self) -> tuple[FileChange, ...]:
        """Return the files that hold tests."""
        return tuple(change for change in self.files if is_test(change.path))

    @property
    def left_out(self) -> int:
        """Return how many criteria and requirements are too many for one design."""
        return max(0, len(self.issue.criteria) + len(self.issue.requirements) - MAX_DEMANDS)

    @cached_property
    def _file_words(self) -> tuple[frozenset[str], ...]:
        return tuple(
            keywords(f"{change.path.replace('/', ' ').replace('_', ' ')} {change.description}")
            for change in self.code_files
        )

    @cached_property
    def homes(self) -> dict[str, str]:
        """Return, for each demand, the code file whose description shares most words with it."""
        found: dict[str, str] = {}
        for demand in self.demands:
            words = keywords(demand.text) | keywords(demand.group)
            scores = [share(words, own) for own in self._file_words[:50]]
            if scores:
                found[demand.id] = self.code_files[max(range(len(scores)), key=scores.__getitem__)].path
        return found

    @cached_property
    def walks(self) -> tuple[Walk, ...]:
        """Return every step of every scenario."""
        walks = (Walk(s, n) for s in self.issue.scenarios[:MAX_DEMANDS] for n in range(len(s.steps)))
        return tuple(islice(walks, 5 * MAX_DEMANDS))

    @cached_property
    def _step_index(self) -> WordIndex:
        return WordIndex([f"{walk.scenario.title} {walk.scenario.steps[walk.step]}" for walk in self.walks])

    def walk_for(self, claim: str) -> Walk | None:
        """Return the step of the issue's scenarios that shows a claim, if one does."""
        nearest = self._step_index.nearest(claim)
        if nearest is None:
            return None
        words = keywords(claim)
        if share(words, self._step_index.words[nearest[0]]) < _STEP_MATCHES:
            return None
        return self.walks[nearest[0]]

    @cached_property
    def forcing(self) -> tuple[tuple[str, str], ...]:
        """Return the ways to force a state that the testing notes give, as (what, how)."""
        pairs = (split_label(note.text) for note in self.issue.testing_notes[:100])
        return tuple((what, how) for what, how in pairs if what and how)

    def forced_by(self, text: str) -> str:
        """Return how the testing notes force the state a text speaks of."""
        words = keywords(text)
        best = max(self.forcing, key=lambda pair: share(keywords(pair[0]), words), default=None)
        return best[1] if best and share(keywords(best[0]), words) > 0.6 else ""

    @cached_property
    def programs(self) -> frozenset[str]:
        """Return the names of the programs that the issue runs."""
        found = set()
        notes = (note.text for note in self.issue.testing_notes)
        for text in (*self.sentences[:1000], *notes):
            for span in code_spans(text):
                first = span.split(" ", 1)[0]
                is_run = f"run `{span}`" in text or f"runs `{span}`" in text or " --" in span
                if is_run and first.replace("-", "").replace("_", "").isalnum() and first[:1].islower():
                    found.add(first)
        return frozenset(found)

    def is_command(self, span: str) -> bool:
        """Tell whether something in backticks is typed or sent, rather than shown."""
        return is_request(span) or (" " in span and span.split(" ", 1)[0] in self.programs)

    @cached_property
    def commands(self) -> tuple[str, ...]:
        """Return the commands and requests of the issue, in order."""
        texts = (*(s for w in self.issue.scenarios for s in w.steps), *self.issue.criteria)
        spans = (span for text in texts for span in code_spans(text))
        return tuple(dict.fromkeys(span for span in spans if self.is_command(span)))

    @cached_property
    def main_command(self) -> str:
        """Return the first command that the issue types, or an empty string."""
        return self.commands[0] if self.commands else ""

    def command_for(self, claim: str) -> str:
        """Return the command that has most words in common with a claim; the only one, if there is one."""
        words = keywords(claim)
        shared = {command: len(words & keywords(command)) for command in self.commands[:40]}
        best = max(shared, key=lambda command: shared[command], default="")
        if best and (shared[best] or len({" ".join(c.split(" ")[:2]) for c in shared}) < 3):
            return best if shared[best] else self.main_command
        return ""

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Return every sentence of the issue that says what is to be built."""
        issue = self.issue
        return (
            *issue.criteria,
            *(requirement.text for requirement in issue.requirements),
            *issue.technical_approach,
            *issue.security,
            *(step for scenario in issue.scenarios for step in scenario.steps),
            *(change.description for change in issue.files),
            issue.objective,
            *issue.context,
        )

    @cached_property
    def signals(self) -> tuple[Raised, ...]:
        """Return the concerns that the issue's words raise."""
        return raised_signals(self.sentences)


def measured_promises(text: str) -> list[Figure]:
    """Return the times and shares within which a sentence promises something."""
    lowered = text.casefold()
    found = []
    for figure in figures(text):
        start = lowered.find(figure.text.casefold())
        before = lowered[max(0, start - 20) : start]
        is_short_time = figure.unit == "s" and figure.value < _DAY
        if (is_short_time or figure.unit == "%") and any(mark in before for mark in _PROMISING):
            found.append(figure)
    return found


def make_blueprint(item: str, text: str) -> Blueprint:
    """Gather a blueprint from the text of an issue."""
    return Blueprint(item, defuse(parse_issue(text)))


def _is_said(text: str, criteria: tuple[str, ...], index: WordIndex) -> bool:
    if index.exact(text) is not None:
        return True
    nearest = index.nearest(text)
    if nearest is None:
        return False
    other = criteria[nearest[0]]
    if not same_figures(figures(text), figures(other)):
        return False
    if set(code_spans(text)) - set(code_spans(other)):
        return False
    return nearest[1] >= _SAME_CLAIM or likeness(keywords(text), keywords(other)) >= _SAME_CLAIM


def looks_like_path(span: str) -> bool:
    """Tell whether something in backticks is a path of the repository."""
    last = span.rsplit("/", 1)[-1]
    if " " in span or "{" in span or "<" in span or span.startswith(("~", "$", "http", "/", "-", ".")):
        return False
    return "." in last and last.rsplit(".", 1)[-1].isalnum() and ("/" in span or is_code(span))


def is_code(path: str) -> bool:
    """Tell whether a path names a source file."""
    endings = (
        ".py",
        ".ts",
        ".tsx",
        ".js",
        ".jsx",
        ".go",
        ".rs",
        ".rb",
        ".java",
        ".kt",
        ".c",
        ".cpp",
        ".sql",
        ".sh",
    )
    return path.casefold().endswith(endings)


def is_test(path: str) -> bool:
    """Tell whether a path names a test."""
    last = path.rsplit("/", 1)[-1]
    return path.startswith(("tests/", "test/")) or last.startswith("test_") or ".test." in last or "_test." in last
