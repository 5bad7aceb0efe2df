"""Read the answer of a reviewer: a verdict object, or a review in Markdown."""

from __future__ import annotations

import re

from agentos.documents.verdict.form import read_form
from agentos.documents.verdict.model import Verdict, VerdictError
from agentos.documents.verdict.objects import find_object, read_object

MAX_ANSWER = 8_000_000
_THOUGHTS = re.compile(r"\s*<(think|thinking)>.*?</\1>", re.DOTALL)
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_OPENING_FENCE = re.compile(r"(`{3,}|~{3,})(?:markdown|md)?", re.IGNORECASE)


def read_verdict(text: str) -> Verdict:
    """Read the verdict of an answer, or raise `VerdictError`.

    Only two forms are read: an object of the verdict schema, with the usual synonyms,
    and the Markdown form that `read_form` describes.
    """
    if len(text) > MAX_ANSWER:
        raise VerdictError("the answer is over 8,000,000 characters")
    answer = text.removeprefix("\ufeff")
    answer = answer.replace("\r\n", "\n")
    answer = answer.replace("\r", "\n")
    answer = _HALF_CHARACTER.sub("\ufffd", answer)
    answer = _blank_thoughts(answer)
    if not answer.strip():
        raise VerdictError("the answer is empty")
    found = find_object(answer)
    if found is not None:
        return read_object(answer, found)
    return read_form(_unfence(answer))


def _blank_thoughts(answer: str) -> str:
    """Blank a model's thoughts before its answer, and keep the line numbers."""
    thoughts = _THOUGHTS.match(answer)
    if thoughts is None:
        return answer
    line_ends = thoughts[0].count("\n")
    blank = "\n" * line_ends
    rest = answer[thoughts.end() :]
    return blank + rest


def _unfence(answer: str) -> str:
    """Blank a fence that holds the whole answer."""
    lines = answer.rstrip().split("\n")
    first = 0
    while not lines[first].strip():
        first += 1
    line = lines[first]
    opening = _OPENING_FENCE.fullmatch(line.strip())
    if opening is None:
        return answer
    closing = lines[-1].strip()
    if closing != opening[1]:
        return answer
    lines[first] = ""
    lines[-1] = ""
    return "\n".join(lines)
