"""Ask the questions of items that wait for a person on the forge that they are from, and
take the replies as answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from agentos.errors import AgentOSError, UsageError
from agentos.item import Item, State
from agentos.kinds import Kind
from agentos.repository.answers import save_answer
from agentos.repository.forge import (
    Absent,
    Announce,
    ForgeError,
    Invalid,
    open_forge,
    read_repository,
)
from agentos.repository.forge.asking.asker import Asker
from agentos.repository.forge.asking.record import (
    asked_path,
    read_asked,
    write_asked,
)
from agentos.state import locks
from agentos.state.home import Home
from agentos.state.records import ItemRecord, read_record


class Questions:
    """The questions of the items of one kind, whose issues are on a forge."""

    def __init__(
        self, asker: Asker, home: Home, key: str, repository: Path, command: str
    ) -> None:
        self._asker = asker
        self._home = home
        self._key = key
        self._repository = repository
        self._command = command
        """Names the holder of an item's lock to other runs."""

    def take_replies(self, kind: Kind, ids: Iterable[str], say: Announce) -> None:
        """Save what trusted people replied as answers, so that the items are pending
        again; without `ids` for all items.
        """
        wanted = frozenset(ids)
        self._home.prepare(self._key)
        for item in self._home.items_with_state(self._key, ended=True):
            is_wanted = not wanted or item.id in wanted
            if item.kind is not kind or not is_wanted:
                continue
            if self._waiting(item) is None:
                continue
            try:
                self._locked(item, lambda item: self._take(item, say))
            except Absent:
                # The issue is gone; the item waits for a person as before.
                continue
            except ForgeError:
                raise
            except (AgentOSError, OSError) as error:
                say(f"Warning: {item.label}: replies are not taken: {error}")

    def ask(self, items: Iterable[Item], say: Announce) -> bool:
        """Ask the questions of those that wait for a person, each once; return whether
        all are asked.
        """
        is_whole = True
        for item in items:
            if self._waiting(item) is None:
                continue
            try:
                self._locked(item, lambda item: self._ask(item, say))
            except (AgentOSError, OSError) as error:
                is_whole = False
                say(f"Warning: {item.label}: NOT ASKED: {error}")
                is_of_item = isinstance(error, Absent | Invalid)
                if isinstance(error, ForgeError) and not is_of_item:
                    # It would hit the next item too.
                    break
        return is_whole

    def _locked(self, item: Item, work: Callable[[Item], None]) -> None:
        """Work on an item under its lock; not at all if a run has it."""
        path = self._home.item(self._key, item).lock
        lock = locks.acquire(path, self._command)
        if isinstance(lock, locks.Holder):
            return
        try:
            work(item)
        finally:
            lock.release()

    def _take(self, item: Item, say: Announce) -> None:
        path = asked_path(self._home.root, self._key, item)
        asked = read_asked(path)
        record = self._waiting(item)
        target = self._asker.forge.repository.name
        if asked is None or record is None or asked.repository != target:
            return
        questions = _questions_of(record)
        replies = self._asker.find_replies(asked, questions, path)
        if replies is None:
            return
        name = save_answer(self._repository, item, replies.answer)
        # After a kill before this, the same replies are saved again.
        known = read_asked(path) or asked
        taken = dict.fromkeys((*known.taken, *replies.ids))
        write_asked(path, replace(known, taken=tuple(taken)))
        say(f"{item.label}: answered ({replies.answer.date}); saved in {name}")

    def _ask(self, item: Item, say: Announce) -> None:
        record = self._waiting(item)
        if record is None:
            return
        path = asked_path(self._home.root, self._key, item)
        before = read_asked(path)
        asked = self._asker.ask(item, _questions_of(record), path)
        if before is None or before.comment != asked.comment:
            say(f"{item.label}: asked in {asked.url}")

    def _waiting(self, item: Item) -> ItemRecord | None:
        """Return the record of an item that waits for a person and has an issue."""
        if not item.id.isascii() or not item.id.isdigit():
            return None
        record = read_record(self._home.item(self._key, item).record)
        if record is None or record.state is not State.NEEDS_DISCUSSION:
            return None
        return record


def _questions_of(record: ItemRecord) -> tuple[str, ...]:
    return record.questions or (record.message,)


def open_questions(
    source: str,
    home: Home,
    key: str,
    repository: Path,
    environ: Mapping[str, str],
    announce: Announce,
    command: str,
) -> Questions:
    """Return the questions to ask in a repository; raise `UsageError` if it takes no
    comments.
    """
    flag = "--ask-on-github"
    forge = open_forge(read_repository(source, "--source"), environ, announce)
    if forge.token_advice:
        raise UsageError(f"{flag}: needs a token; {forge.token_advice}")
    facts = forge.describe()
    if facts.is_archived:
        raise UsageError(
            f"{flag}: {forge.repository} is archived and takes no comments"
        )
    return Questions(Asker(forge), home, key, repository, command)
