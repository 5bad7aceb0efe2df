"""The messages of a conversation, and the conversation as one text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

_INTRODUCTION = """\
What follows is a conversation. Each message stands between a line <<<SPEAKER-{mark} and a
line SPEAKER-{mark}>>>. You are the assistant: give only your next message, without such
lines.
"""


class Speaker(StrEnum):
    """Who says a message of a conversation, in the words that most APIs use."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    speaker: Speaker
    text: str
    breakpoints: tuple[int, ...] = ()
    """Positions in the text up to which later questions repeat the conversation, for
    providers that cache only what they are told to. They are no part of the question.
    """


def ask_once(text: str, *breakpoints: int) -> tuple[Message, ...]:
    """Return the conversation of a single question."""
    question = Message(Speaker.USER, text, breakpoints)
    return (question,)


def is_single(messages: Sequence[Message]) -> bool:
    """Return whether a conversation is one question and nothing else."""
    if len(messages) != 1:
        return False
    return messages[0].speaker is Speaker.USER


def as_text(messages: Sequence[Message]) -> str:
    """Return a single question as it is, and a conversation with marked messages."""
    texts = [message.text for message in messages]
    if is_single(messages):
        return texts[-1]
    mark = _find_mark(texts)
    parts = [_INTRODUCTION.format(mark=mark)]
    for message in messages:
        name = f"{message.speaker.upper()}-{mark}"
        parts.append(f"<<<{name}\n{message.text}\n{name}>>>\n")
    return "\n".join(parts)


def _find_mark(texts: Sequence[str]) -> str:
    """Return a mark that occurs in no text and stays the same as a conversation grows,
    so that caches of its beginning serve.
    """
    digest = _sha256(texts[0])
    while any(digest[:24] in text for text in texts):
        digest = _sha256(digest)
    return digest[:24]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
