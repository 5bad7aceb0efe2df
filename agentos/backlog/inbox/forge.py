"""The open issues of a repository on a forge as inbox; they are listed once, with their
texts.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agentos.backlog.inbox import (
    TRUSTED,
    Collected,
    LeftOut,
    LeftOutComments,
    Source,
    SourceState,
)
from agentos.backlog.inbox.directory import INPUT_LIMIT, decode_text, set_apart_taken
from agentos.documents.comments import Comment, with_comments
from agentos.errors import BadInput, UsageError
from agentos.item import Item
from agentos.kinds import Kind
from agentos.repository.forge import (
    FILING_MARK,
    Author,
    Forge,
    ForgeError,
    ForgeIssue,
    ForgeRepository,
    Milestone,
)

ISSUES_LIMIT = 20_000
TEXT_LIMIT = 400_000_000
"""Maximum number of characters in the texts of all issues."""
LOOKED_UP = 20
"""Maximum number of issues that are requested one by one instead of in a list."""
COMMENTS_READ = 1_000
"""Maximum number of comments that are fetched of one issue."""
TITLE_LIMIT = 1_000
NUMBER_LIMIT = 18
"""Maximum number of digits in the number of an issue."""

TakenReplies = Callable[[Item], Container[int]]
"""Returns the ids of comments on an item that were taken as answers to questions."""

_CONTROL = (*range(32), *range(127, 160), 8232, 8233)
_CONTROL_TO_SPACE = dict.fromkeys(_CONTROL, " ")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which issues of a repository are items."""

    labels: tuple[str, ...] = ()
    """Labels that an issue must all have."""
    milestone: str = ""
    """Its title or number; empty for any."""
    numbers: tuple[str, ...] = ()
    """The issues that the user named; empty for all."""
    any_author: bool = False
    """Whether issues of authors that are not trusted are items too."""


class ForgeInbox:
    """Open issues without pull requests, each with its comments as a Markdown text."""

    def __init__(
        self,
        forge: Forge,
        wanted: Wanted,
        clone: Path,
        workflow: Kind,
        taken: TakenReplies | None = None,
    ) -> None:
        self._forge = forge
        self._wanted = wanted
        self._clone = clone
        self._workflow = workflow
        self._taken = taken
        self._sources: dict[str, Source] = {}
        self._unread: list[LeftOutComments] = []

    def collect(self) -> Collected:
        """List the issues; raise `UsageError` for a label or milestone that does not
        exist, and for a named issue whose author is not trusted.
        """
        self._forge.describe()
        repository = self._forge.repository
        items: list[Item] = []
        left_out: list[LeftOut] = []
        size = 0
        for issue in self._request():
            id = str(issue.number)
            if id in self._sources or self._is_own(issue):
                continue
            reference = repository.refer(issue.number)
            place = f"{repository.scheme}:{reference}"
            item = Item(self._workflow, id, place)
            author = issue.author
            if self._is_taken(author):
                source = self._read(issue, item)
                self._sources[id] = source
                items.append(item)
                size += len(source.text)
            else:
                left_out.append(LeftOut(item, author))
            # Anybody may open issues, so those that are left out are limited too.
            listed = len(items) + len(left_out)
            if listed > ISSUES_LIMIT or size > TEXT_LIMIT:
                raise UsageError(
                    f"{repository}: too many open issues for one run; name a"
                    " --label or a --milestone"
                )
        self._refuse_named(left_out)
        if not items and not left_out:
            self._check_labels()
        free, taken = set_apart_taken(items, [], self._clone, self._workflow)
        return Collected(
            free, taken, left_out=tuple(left_out), unread=tuple(self._unread)
        )

    def _is_taken(self, author: Author) -> bool:
        return author.is_trusted or self._wanted.any_author

    def _read(self, issue: ForgeIssue, item: Item) -> Source:
        """Return the text of an issue with the comments that are taken."""
        comments: list[Comment] = []
        if not issue.comments:
            return read_issue(issue, self._forge.repository)
        left_out = 0
        found = list(islice(self._forge.list_comments(issue.number), COMMENTS_READ))
        answers: Container[int] = ()
        if self._taken is not None:
            answers = self._taken(item)
        for each in found:
            author = each.author
            if author.is_bot or each.is_ours or each.id in answers:
                continue
            if self._is_taken(author):
                comments.append(Comment(author.name, each.date, each.body))
            else:
                left_out += 1
        if left_out:
            self._unread.append(LeftOutComments(item, left_out))
        unread = 0
        if len(found) == COMMENTS_READ:
            unread = max(0, issue.comments - COMMENTS_READ)
        return read_issue(issue, self._forge.repository, comments, unread)

    def load(self, item: Item) -> Source:
        """Return the text of an issue as it was listed."""
        source = self._sources.get(item.id)
        if source is not None:
            return source
        return Source("", "", f"{item.source}: is not among the open issues")

    def digest(self, item: Item) -> str:
        """Return the hash of an issue's text."""
        return self.load(item).digest

    def look_up(self, items: Iterable[str]) -> dict[str, SourceState]:
        """Ask about issues that were not listed, one by one; those above a limit stay
        unasked.
        """
        known = dict.fromkeys(items, SourceState.MISSING)
        numbers = list(filter(_may_be_number, known))
        known |= dict.fromkeys(numbers, SourceState.UNASKED)
        asked = numbers[:LOOKED_UP]
        for number in asked:
            try:
                known[number] = self._find_whereabouts(number)
            except ForgeError:
                # An unknown dependency is worth a warning, not the end of the
                # command.
                break
        return known

    def _find_whereabouts(self, number: str) -> SourceState:
        issue = self._forge.read_issue(int(number))
        if issue is None:
            return SourceState.MISSING
        if self._is_own(issue):
            return SourceState.DONE
        if issue.is_open:
            return SourceState.OPEN
        return SourceState.DONE

    def _request(self) -> Iterator[ForgeIssue]:
        """Ask for the wanted issues one by one if they are few, else for a list."""
        wanted = self._wanted
        forge = self._forge
        milestone = None
        if wanted.milestone:
            milestone = self._find_milestone()
        numbers = list(filter(_may_be_number, wanted.numbers))
        is_filtered = wanted.labels or milestone
        is_long = not wanted.numbers or len(numbers) > LOOKED_UP
        if is_filtered or is_long:
            yield from forge.list_issues(wanted.labels, milestone)
            return
        for number in numbers:
            issue = forge.read_issue(int(number))
            # Missing and closed issues are reported together later.
            if issue is None or issue.is_pull:
                continue
            if issue.is_open:
                yield issue

    def _is_own(self, issue: ForgeIssue) -> bool:
        """Return whether AgentOS filed this issue from a brief: taken as a brief, it
        would be filed again and again.
        """
        if not self._workflow.record.writes_issues:
            return False
        return FILING_MARK in issue.body

    def _refuse_named(self, left_out: Iterable[LeftOut]) -> None:
        """Raise `UsageError` if the user named an issue that is left out: that does not
        make its author trusted.
        """
        for each in left_out:
            item = each.item
            if item.id not in self._wanted.numbers:
                continue
            raise UsageError(
                f"{item.source} is by {each.author}, not by an {TRUSTED}; read it, and"
                " take it with --any-author"
            )

    def _find_milestone(self) -> Milestone:
        """Return the milestone with the wanted title or number."""
        wanted = self._wanted.milestone
        titles = []
        found = None
        for milestone in self._forge.list_milestones():
            titles.append(milestone.title)
            if milestone.title == wanted:
                return milestone
            if milestone.number == wanted:
                found = milestone
        if found is not None:
            return found
        hint = _suggest(wanted, titles)
        raise UsageError(f"{self._forge.repository} has no milestone {wanted!r}{hint}")

    def _check_labels(self) -> None:
        if not self._wanted.labels:
            return
        listed = self._forge.list_labels()
        names = set(listed)
        known = set(map(str.casefold, names))
        for label in self._wanted.labels:
            if label.casefold() in known:
                continue
            hint = _suggest(label, names)
            raise UsageError(f"{self._forge.repository} has no label {label!r}{hint}")


def read_issue(
    issue: ForgeIssue,
    repository: ForgeRepository,
    comments: Sequence[Comment] = (),
    unread: int = 0,
) -> Source:
    """Return an issue and comments as the text of a file in `docs/issues`; one that
    cannot be used has a hash, too.
    """
    name = repository.refer(issue.number)
    whole = render_issue(issue.number, issue.title, issue.body)
    if len(whole) <= INPUT_LIMIT:
        whole = with_comments(whole, comments, unread)
    # Comments, too, can contain what UTF-8 cannot.
    data = whole.encode("utf-8", "replace")
    digest = hashlib.sha256(data).hexdigest()
    if len(data) > INPUT_LIMIT:
        size = len(data) / 1e6
        limit = INPUT_LIMIT / 1e6
        problem = f"{name}: is {size:.1f} MB, the limit is {limit:.0f} MB"
        return Source("", digest, problem)
    try:
        text = decode_text(data, name)
    except BadInput as error:
        return Source("", digest, str(error))
    return Source(text, digest)


def render_issue(number: int, title: str, body: str) -> str:
    """Return title and body as Markdown, with the title on one line and Unix line
    ends.
    """
    shown = title[:TITLE_LIMIT].translate(_CONTROL_TO_SPACE)
    words = shown.split()
    heading = " ".join(words)
    text = body.replace("\r\n", "\n")
    text = text.replace("\r", "\n")
    text = text.replace("\0", "")
    text = text.strip("\n")
    whole = f"# {number} - {heading}\n\n{text}\n"
    # JSON can contain lone surrogates, which UTF-8 cannot.
    data = whole.encode("utf-8", "replace")
    return data.decode()


def _may_be_number(item: str) -> bool:
    if len(item) > NUMBER_LIMIT:
        return False
    return item.isascii() and item.isdigit()


def _suggest(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    if not names:
        return "; it has none at all"
    for name in difflib.get_close_matches(word, names, n=1):
        return f"; did you mean {name!r}?"
    first = map(repr, names[:10])
    listed = ", ".join(first)
    return f"; there are {listed}"
