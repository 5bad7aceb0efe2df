"""Select the repository context of an issue: bounded, explained and reproducible.

What the issue names is shown with the numbers of its lines, as by a look, so that no
line of a file can be taken for one of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentos.documents.changes import is_test
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.context.building import describe_building
from agentos.repository.context.changelog import find_changelog
from agentos.repository.context.chosen_lines import choose_lines
from agentos.repository.context.conventions import describe_conventions, is_guide
from agentos.repository.context.designs import describe_designs
from agentos.repository.context.main_modules import largest_modules, outline_modules
from agentos.repository.context.mentions import Mentions
from agentos.repository.context.nearest_tests import largest_test_file, show_head
from agentos.repository.context.overview import describe_repository, list_names
from agentos.repository.context.query import Query, read_query
from agentos.repository.context.ranking import FileChoice, rank
from agentos.repository.look.history import has_one_commit
from agentos.repository.look.masking import shorten, show_name, withhold_masked
from agentos.repository.look.recorded import RecordedFiles
from agentos.repository.look.showing import fit
from agentos.state.wording import count

LIMIT = 60_000
_ORDINARY_SHARE = 3
"""Beyond a third of the limit only what the issue names is added, and more briefly."""
_MAP = 4_000
_BUILDING = 2_000
_CONVENTIONS = 4_000
_TESTS = 2_400
_MODULES = 7_500
_OTHERS = 3_000
_DESIGNS = 7_500
_REMARK = 700
_FIXED = 4
"""The parts of fixed size take at most half of the limit together."""
_ENTRY = 12_000
_SMALL = 6_000
"""Characters up to which a named file is shown as a whole."""
_OUTLINE = 3_000
_SHORT_OUTLINE = 1_000
_LEAST_ROOM = 200
_KEPT_FOR_FILE = 1_500
_KEPT_FOR_TESTS = 6_000
_LONGEST_ROW = 300
_MOST_UNCLEAR = 8
_BETWEEN = "\n\n"
_ONE_COMMIT = "\nIts whole history is one commit, so no look at it tells more."


@dataclass(frozen=True, slots=True)
class RepositoryContext:
    """Repository context as Markdown for a prompt, and a line about it for the log."""

    text: str
    explanation: str


def select_context(
    files: RecordedFiles,
    source: str,
    limit_characters: int = LIMIT,
    *,
    small: int = _SMALL,
    called: str = "issue",
) -> RepositoryContext:
    """Return the repository context for `source`, a text that is `called` an issue, a
    brief or a design; a file that it names is shown whole up to a `small` number of
    characters.
    """
    query = read_query(source, called)
    selection = _Selection(files, query, limit_characters, small)
    return selection.write()


class _Page:
    """Markdown of limited size, written part by part."""

    def __init__(
        self,
        limit: int,
    ) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self.used = 0

    @property
    def left(self) -> int:
        """Number of characters that still fit."""
        return self._limit - self.used - len(_BETWEEN)

    @property
    def text(self) -> str:
        """The whole page."""
        return _BETWEEN.join(self._parts)

    def add(
        self,
        text: str,
    ) -> bool:
        """Add a text if all of it fits."""
        # Two harmless texts may form a credential together, so the whole is checked.
        shown = withhold_masked(text)
        if len(shown) > self.left:
            return False
        self._parts.append(shown)
        self.used += len(shown) + len(_BETWEEN)
        return True

    def add_part(
        self,
        title: str,
        entries: Iterable[str],
        room: int,
    ) -> int:
        """Add the entries that fit under a heading; return their number."""
        added = 0
        left = min(room, self.left)
        for entry in entries:
            text = entry
            if not added:
                text = f"### {title}\n\n{entry}"
            if len(text) > left or not self.add(text):
                break
            left -= len(text) + len(_BETWEEN)
            added += 1
        return added


class _Selection:
    """Writes the context of one source."""

    def __init__(
        self, files: RecordedFiles, query: Query, limit: int, small: int
    ) -> None:
        self._query = query
        self._limit = limit
        self._small = small
        self._files = BoundedFiles(files)
        self._paths = list(files.paths)
        self._root = files.root
        self._is_cut = bool(files.snapshot.last)
        self._has_one_commit = has_one_commit(files)
        self._page = _Page(limit)

    def write(self) -> RepositoryContext:
        """Write the page from its beginning to its end."""
        ranking = rank(self._paths, self._query, self._files)
        detailed, others = self._divide(ranking.choices, ranking.mentions)
        in_detail = {choice.name for choice in detailed}
        shown = in_detail | {choice.name for choice in others}
        modules = []
        if not detailed:
            modules = largest_modules(self._paths, self._files)
        shown.update(modules)
        self._add_overview(in_detail, shown)
        self._add_conventions(in_detail, ranking.tests)
        outlines = outline_modules(modules, self._files)
        title = f"The largest modules, because the {self._query.called} names nothing"
        self._page.add_part(title, outlines, self._room(_MODULES))
        room = self._room(_DESIGNS)
        found = describe_designs(self._root, self._query.items, room)
        designs = list(found)
        reserved = self._room(_REMARK)
        reserved += sum(map(len, designs))
        written = self._add_detailed(detailed, ranking.mentions, reserved)
        rows = self._list(others)
        listed = self._page.add_part("Other files that may matter", rows, room)
        shown_designs = self._page.add_part(
            "Designs that this builds on", designs, self._page.left
        )
        unwritten = len(detailed) - written
        self._add_remark(ranking.mentions, unwritten)
        called = self._query.called
        named = sum(choice.is_named for choice in detailed)
        explanation = (
            f"{count(written, 'file')} shown and {listed and len(others)} listed"
            f" of {len(self._paths)}; {named} named in the {called}"
        )
        if shown_designs:
            explanation += f"; {count(shown_designs, 'finished design')}"
        size = round(len(self._page.text) / 1000)
        return RepositoryContext(self._page.text, f"{explanation}; {size} kB")

    def _room(
        self,
        wanted: int,
    ) -> int:
        """Return the size of a part, less if the whole page is to be small."""
        return min(wanted, wanted * self._limit // LIMIT * _FIXED)

    def _divide(
        self,
        choices: Iterable[FileChoice],
        mentions: Mentions,
    ) -> tuple[list[FileChoice], list[FileChoice]]:
        """Return the files that are shown by their lines, and those to be listed."""
        detailed = []
        others = []
        changelog = find_changelog(self._paths)
        for choice in choices:
            mention = mentions.of(choice.name)
            if choice.is_named or mention.has_lines:
                detailed.append(choice)
            elif not is_guide(choice.name) and choice.name != changelog:
                others.append(choice)
        return detailed, others

    def _add_overview(
        self,
        in_detail: set[str],
        shown: set[str],
    ) -> None:
        page = self._page
        room = self._room(_MAP)
        note = _ONE_COMMIT if self._has_one_commit else ""
        overview = describe_repository(
            self._paths,
            self._files,
            shown,
            room - len("### The repository\n\n") - len(note),
            is_cut=self._is_cut,
        )
        overview += note
        page.add_part("The repository", [overview], room)
        building = describe_building(self._paths, self._files, in_detail)
        page.add_part("How it is built and tested", building, self._room(_BUILDING))

    def _add_conventions(
        self,
        in_detail: set[str],
        tests: Sequence[str],
    ) -> None:
        room = self._room(_CONVENTIONS)
        conventions = describe_conventions(
            self._paths,
            self._files,
            in_detail,
            room - len("### Conventions\n\n"),
        )
        self._page.add_part("Conventions", conventions, room)
        nearest = tests[0] if tests else largest_test_file(self._paths, self._files)
        if nearest and nearest not in in_detail:
            room = self._room(_TESTS)
            title = "Tests"
            head = show_head(nearest, self._files, room - _LEAST_ROOM)
            self._page.add_part(title, head, room)

    def _add_detailed(
        self,
        choices: Sequence[FileChoice],
        mentions: Mentions,
        reserved: int,
    ) -> int:
        """Add the lines of files; return the number of files."""
        ordinary = self._limit // _ORDINARY_SHARE
        added = 0
        for number, choice in enumerate(choices, 1):
            head = _heading(choice)
            if not added:
                head = f"### What the {self._query.called} names\n\n{head}"
            left = self._page.left - reserved
            kept_free = min(self._kept_free(choices[number:]), left // 2)
            room = min(left - kept_free, max(_ENTRY, 2 * self._small))
            if room < len(head) + _LEAST_ROOM:
                break
            is_roomy = self._page.used < ordinary
            text = self._show(choice, head, mentions, room, is_roomy)
            if text and self._page.add(text):
                added += 1
        return added

    def _kept_free(
        self,
        choices: Iterable[FileChoice],
    ) -> int:
        """Return the room that is left to the files which a design changes, too."""
        room = 0
        for choice in choices:
            text = self._files.read(choice.name)
            if choice.name not in self._query.declared or text is None:
                continue
            most = _KEPT_FOR_TESTS if is_test(choice.name) else _KEPT_FOR_FILE
            room += min(most, len(text.source))
        return room

    def _show(
        self,
        choice: FileChoice,
        head: str,
        mentions: Mentions,
        room: int,
        is_roomy: bool,
    ) -> str:
        text = self._files.read(choice.name)
        if text is None:
            reason = self._files.why_not(choice.name)
            return f"{head}\n\nNot shown: {reason}."
        small = min(self._small, room * 3 // 4)
        outline = _OUTLINE
        if not is_roomy:
            small = _SHORT_OUTLINE
            outline = _SHORT_OUTLINE
        excerpt = choose_lines(
            text,
            mentions.of(choice.name),
            self._query,
            self._files,
            is_named=choice.is_named,
            small=small,
        )
        return excerpt.render(head, room, outline)

    def _list(
        self,
        choices: Iterable[FileChoice],
    ) -> list[str]:
        rows = []
        for choice in choices:
            names = list_names(choice.name, self._files)
            shown = show_name(choice.name)
            row = f"- `{shown}` ({choice.reason})"
            if names:
                row += f": {names}"
            rows.append(shorten(row, _LONGEST_ROW))
        if not rows:
            return []
        return [fit(rows, self._room(_OTHERS) - _LEAST_ROOM)]

    def _add_remark(
        self,
        mentions: Mentions,
        unwritten: int,
    ) -> None:
        """Say what is not shown."""
        parts = []
        if unwritten:
            files = count(unwritten, "file")
            parts.append(f"{files} with what the {self._query.called} names")
        unclear = []
        for name, number in mentions.unclear.items():
            unclear.append(f"`{show_name(name)}` ({number} definitions)")
        if unclear:
            listed = ", ".join(unclear[:_MOST_UNCLEAR])
            parts.append(f"names that may mean several things: {listed}")
        parts.append("everything else")
        listed = "; ".join(parts)
        self._page.add(f"Left out here: {listed}. Whoever may look can look them up.")


def _heading(choice: FileChoice) -> str:
    name = show_name(choice.name)
    return f"#### `{name}` ({choice.reason})"
