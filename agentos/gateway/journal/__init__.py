"""Journal of calls by what was asked: no question is paid for twice, and all costs are
known.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

from agentos.gateway.budget import UNLIMITED, Caps
from agentos.gateway.providers import Completion, Request, is_single
from agentos.money import Cost
from agentos.state.wording import utc_now

MOST = 10**15
"""Upper bound of stored token counts and costs, so that sums stay within 64 bits."""
_HASHED_LIMIT = "32000"
"""Constant part of the hash, kept so that answers of earlier versions are found."""


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Identity of a request: its item, and its position in the item with a hash of the
    prompt.
    """

    item: str
    question: str


@dataclass(frozen=True, slots=True)
class Settled:
    """An answer that has been paid for."""

    completion: Completion
    cost: Cost
    seconds: float


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that is about to be sent."""

    call_id: int
    was_sent_before: bool
    """Whether an earlier process sent the same request and its answer was lost."""
    may_be_paid_before: bool = False
    """Whether an earlier call for the same answer ended and may have been billed."""


@dataclass(frozen=True, slots=True)
class CallCost:
    """Total of the calls of one item at one node to one model."""

    item: str
    """As returned by `item_key`."""
    node: str
    model: str
    calls: int
    repeated: int
    input_tokens: int
    output_tokens: int
    cost: Cost


def item_key(repository: str, workflow: str, item: str) -> str:
    """Return the name of an item that is unique across repositories."""
    return f"{repository}/{workflow}/{item}"


def request_key(request: Request) -> RequestKey:
    """Return the identity of a request: the whole conversation so far, independent of
    its output limit.
    """
    parts = [
        request.model,
        request.schema,
        _HASHED_LIMIT,
    ]
    if is_single(request.messages):
        # A single question is hashed as it was before there were conversations.
        parts.append(request.prompt)
    else:
        parts.append("conversation")
        for message in request.messages:
            parts.append(message.speaker)
            parts.append(message.text)
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).hexdigest()
    question = f"{request.node}/{request.round}/{request.attempt}/{digest}"
    item = item_key(request.repository, request.workflow, request.item)
    return RequestKey(item, question)


class Journal(Protocol):
    """Store of calls: each is recorded before it is sent, and again when it ends.

    A call that is interrupted because its process ends stays recorded as sent: the
    provider may bill it, so it may have cost its reservation, and the next process
    learns that it repeats the call.
    """

    waits_for_disk: bool
    """Whether its methods block and must not run on an event loop; all are
    thread-safe.
    """

    def settled(self, key: RequestKey) -> Settled | None:
        """Return the stored answer to a request, None without one."""

    def begin(
        self,
        key: RequestKey,
        request: Request,
        reservation: int,
        caps: Caps = UNLIMITED,
    ) -> Begun:
        """Record a call before it is sent, or raise `OverBudget` when a cap leaves no
        room.
        """

    def settle(
        self, call_id: int, completion: Completion, cost: Cost, seconds: float
    ) -> None:
        """Store the answer of a call and its cost."""

    def abandon(self, call_id: int, reason: str, cost: Cost) -> None:
        """Record that a call failed and what it may have cost."""

    def forget_item(self, repository: str, workflow: str, item: str) -> None:
        """Drop the answers of an item that has ended; their costs stay."""

    def spent(
        self,
        run: str | None = None,
        item: str | None = None,
        day: str | None = None,
    ) -> Cost:
        """Sum the costs of a run, of an item (as returned by `item_key`) or of a UTC
        day.
        """

    def costs(self, run: str) -> list[CallCost]:
        """Return the costs of a run by item, node and model."""

    def costs_in(self, repository: str) -> list[CallCost]:
        """Return the costs of a repository by item, node and model."""

    def repeated(self, run: str) -> int:
        """Return how many calls of a run were repeated because an answer was lost."""

    def close(self) -> None:
        """Release all resources."""


def keep_within(number: int) -> int:
    """Return the number bounded to the range that is stored."""
    return min(max(0, number), MOST)


def keep_cost_within(cost: Cost) -> Cost:
    """Return the cost bounded to the range that is stored, with `known` up to `most`."""
    most = keep_within(max(cost.known, cost.most))
    known = keep_within(cost.known)
    return Cost(min(known, most), most)


def today() -> str:
    """Return the UTC day that a call sent now counts for."""
    return utc_now()[:10]
