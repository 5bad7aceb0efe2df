"""Ask questions in a comment exactly once, despite kills and lost responses, and find the
replies.

As with issues that are filed, an intent with a marker is on the disk before the forge is
asked, and the comment has the marker. If an intent has no comment, it is looked for, and
counts as not sent only after the forge must have given up on the request.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentos.documents.answers import Answer
from agentos.documents.comments import plain_name, plain_text
from agentos.errors import BadInput
from agentos.item import Item
from agentos.repository.answers import ANSWER_LIMIT
from agentos.repository.forge import (
    Forge,
    ForgeComment,
    Unavailable,
    Unclear,
)
from agentos.repository.forge.asking.record import Asked, read_asked, write_asked
from agentos.repository.forge.filing.record import new_marker
from agentos.repository.forge.pulls.body import neutralize
from agentos.state.redaction import find_line_to_hide

ATTEMPTS = 3
QUESTION_LIMIT = 2_000
"""Maximum number of characters of one question."""
_HOW = (
    "To answer, reply with a comment. What an owner, a member or a collaborator of this"
    " repository writes below is taken as the answer when the same command runs again."
)


@dataclass(frozen=True, slots=True)
class Replies:
    """Comments below questions, as the answer to them."""

    answer: Answer
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks questions about issues of one repository; the caller holds the item's lock."""

    forge: Forge

    def ask(self, item: Item, questions: Sequence[str], path: Path) -> Asked:
        """Return the comment with the questions, which is there once.

        `path` is the file of what was asked about the item.
        """
        asked = self._begin(item, questions, path)
        if asked.comment:
            return asked
        body = self._write_body(item, questions, asked)
        trouble = ""
        for _ in range(ATTEMPTS):
            asked = replace(asked, sent=time.time())
            write_asked(path, asked)
            try:
                created = self.forge.create_comment(asked.number, body)
            except Unclear as error:
                trouble = str(error)
                known = self._look_for(asked)
            else:
                known = _with_comment(asked, created)
            if known.comment:
                write_asked(path, known)
                return known
        raise Unavailable(f"{trouble}, {ATTEMPTS} times; run again")

    def find_replies(
        self, asked: Asked, questions: Sequence[str], path: Path
    ) -> Replies | None:
        """Return what trusted people replied to the questions, None if nobody did since
        the last time.
        """
        if asked.content != hash_of(questions):
            return None
        if not asked.comment:
            # A killed run may have asked.
            asked = self._search(asked) or asked
            if not asked.comment:
                return None
            write_asked(path, asked)
        replies = []
        for comment in self._comments(asked):
            author = comment.author
            is_later = comment.id > asked.comment
            if not is_later or comment.is_ours:
                continue
            if author.is_bot or not author.is_trusted:
                continue
            if comment.body.strip():
                replies.append(comment)
        ids = tuple(comment.id for comment in replies)
        if set(ids) <= set(asked.taken):
            return None
        reference = self.forge.repository.refer(asked.number)
        return Replies(_answer(questions, replies, reference), ids)

    def _begin(self, item: Item, questions: Sequence[str], path: Path) -> Asked:
        """Return the intent; if the same questions were asked before, with their comment."""
        target = self.forge.repository.name
        content = hash_of(questions)
        asked = read_asked(path)
        if asked is None:
            return Asked(target, int(item.id), new_marker(), content)
        is_same = asked.content == content and asked.repository == target
        if not is_same:
            taken = asked.taken
            return Asked(target, int(item.id), new_marker(), content, taken=taken)
        if asked.comment:
            return asked
        known = self._look_for(asked)
        if known.comment:
            write_asked(path, known)
        return known

    def _write_body(self, item: Item, questions: Sequence[str], asked: Asked) -> str:
        rows = [f"**Questions about {item.label}**, before the work goes on:", ""]
        for number, question in enumerate(questions, 1):
            # A model wrote it: on one line it is a question and nothing else.
            text = " ".join(question.split())
            if len(text) > QUESTION_LIMIT:
                text = text[: QUESTION_LIMIT - 3] + "..."
            rows.append(f"{number}. {neutralize(text)}")
        rows += ["", _HOW, "", asked.mark, ""]
        body = "\n".join(rows)
        if find_line_to_hide(body):
            raise BadInput(
                "a question holds a key, or what looks like one; answer it with agentos"
                " answer"
            )
        if len(body) > self.forge.limits.body:
            raise BadInput(
                f"its questions are longer than {self.forge.label} takes; answer them"
                " with agentos answer"
            )
        return body

    def _look_for(self, asked: Asked) -> Asked:
        """Return it with its comment if that exists, now or when the request must have
        settled.
        """
        found = self._search(asked)
        if found is not None:
            return found
        settling = self.forge.limits.settling
        # The clock may have been set back since.
        left = min(settling, asked.sent + settling - time.time())
        if left <= 0:
            return asked
        if self.forge.pause(left):
            raise Unavailable("stopped")
        return self._search(asked) or asked

    def _search(self, asked: Asked) -> Asked | None:
        for comment in self._comments(asked):
            if asked.mark in comment.body:
                return _with_comment(asked, comment)
        return None

    def _comments(self, asked: Asked) -> Sequence[ForgeComment]:
        forge = self.forge.at(asked.repository)
        return list(forge.list_comments(asked.number))


def hash_of(questions: Sequence[str]) -> str:
    """Return a hash of questions."""
    text = "\n".join(questions)
    data = text.encode("utf-8", "replace")
    return hashlib.sha256(data).hexdigest()


def _with_comment(asked: Asked, comment: ForgeComment) -> Asked:
    return replace(asked, comment=comment.id, url=comment.url)


def _answer(
    questions: Sequence[str], replies: Sequence[ForgeComment], reference: str
) -> Answer:
    """Return replies as one answer, with the name and date of each."""
    last = replies[-1]
    date = f"{last.date}, {plain_name(last.author.name)} on {reference}"
    parts = []
    for reply in replies:
        text = plain_text(reply.body)
        if len(replies) > 1:
            name = plain_name(reply.author.name)
            text = f"**{name}** on {reply.date}:\n\n{text}"
        parts.append(text)
    whole = "\n\n".join(parts)
    if len(whole) > ANSWER_LIMIT:
        whole = f"{whole[:ANSWER_LIMIT]}\n\n*The rest is left out.*"
    question = " ".join(questions)
    return Answer(question, whole, date)
