"""Play the prompt caches of the providers, as they document them.

Anthropic caches what a request marks: a beginning of at least so many tokens that ends
with a marked block, at most four in a request. A marked block also finds a beginning
that ended up to 20 blocks before it, and every use prolongs its life. OpenAI and Gemini
look for the longest beginning of any earlier request by themselves.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from dataclasses import dataclass

from tests.scenario.formats import CHARACTERS_PER_TOKEN, Block, Call

MOST_MARKS = 4
LOOK_BACK = 20
STEP = 128
"""Tokens by which a cache that needs no marks grows."""


@dataclass(frozen=True, slots=True)
class Served:
    """Input tokens of a call that were read from the cache or written to it."""

    read: int = 0
    written: int = 0


class PromptCache:
    """What the server remembers of the requests of every group and model."""

    def __init__(self) -> None:
        self._beginnings: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        self._texts: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)

    def serve(
        self, call: Call, group: str, least: int, life: float, now: float
    ) -> Served:
        """Return what the cache gives a call, and remember the call."""
        place = (group, call.model)
        if call.blocks:
            return self._serve_marked(call.blocks, place, least, life, now)
        text = "".join(call.texts)
        known = self._texts[place]
        shared = 0
        for other, ends in known.items():
            if ends > now:
                shared = max(shared, len(os.path.commonprefix([text, other])))  # noqa: RUF071
        known[text] = now + life
        tokens = shared // CHARACTERS_PER_TOKEN // STEP * STEP
        return Served(tokens if tokens >= least else 0)

    def _serve_marked(
        self,
        blocks: tuple[Block, ...],
        place: tuple[str, str],
        least: int,
        life: float,
        now: float,
    ) -> Served:
        known = self._beginnings[place]
        digests, sizes = [], []
        characters, digest = 0, hashlib.sha256()
        for block in blocks:
            digest.update(f"{block.speaker}\0{block.text}\0".encode())
            characters += len(block.text)
            digests.append(digest.hexdigest())
            sizes.append(characters // CHARACTERS_PER_TOKEN)
        marks = [place for place, block in enumerate(blocks) if block.is_marked]
        read = 0
        for mark in marks:
            for position in range(mark, max(-1, mark - LOOK_BACK), -1):
                if known.get(digests[position], 0.0) > now:
                    known[digests[position]] = now + life
                    read = max(read, sizes[position])
                    break
        end = read
        for mark in marks:
            if sizes[mark] >= least:
                known[digests[mark]] = now + life
                end = max(end, sizes[mark])
        return Served(read, end - read)
