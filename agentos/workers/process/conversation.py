"""The coordinator's side of a worker's channel: send the assignment, answer requests,
receive the report.
"""

from __future__ import annotations

import asyncio
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentos.errors import ProviderError
from agentos.gateway.providers import Request
from agentos.gateway.secrets import Origin
from agentos.gateway.server import Gateway, Reply
from agentos.gateway.wire import completion_to_json, request_from_json
from agentos.item import Failure
from agentos.repository.paths import answers_path
from agentos.state.redaction import redact
from agentos.workers import Event
from agentos.workers.process.channel import Channel, Message
from agentos.workers.process.checkpoint_link import answer
from agentos.workers.process.messages import assignment_to_json
from agentos.workers.process.pacing import Pace, Turn
from agentos.workflows.engine.assignment import Assignment
from agentos.workflows.engine.checkpoints import CheckpointFile


class Conversation:
    """The exchange of messages between the coordinator and one worker."""

    def __init__(
        self,
        gateway: Gateway,
        pace: Pace,
        assignment: Assignment,
        root: Path,
        checkpoint: Path,
        on_events: Callable[[Sequence[Event]], None],
    ) -> None:
        self._gateway = gateway
        self._pace = pace
        self._turn: Turn | None = None
        self._assignment = assignment
        item = assignment.item
        self._origin = Origin(
            root,
            item.source,
            answers_path(item.kind, item.id),
        )
        self._on_events = on_events
        self._checkpoint = CheckpointFile(checkpoint)
        self._started = 0.0
        """When the worker got its work."""
        self._channel: Channel | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._report: asyncio.Future[Message | None] = (
            asyncio.get_running_loop().create_future()
        )

    async def run(
        self, end: socket.socket, begin: Callable[[], None], places: Message
    ) -> Message | None:
        """Send the worker its work and serve it until it reports or exits; return its
        report.

        `begin` is called when it is the worker's turn. `places` has the paths of the
        repository and the checkpoint.
        """
        await self._take_turn()
        try:
            self._started = time.monotonic()
            begin()
            channel = self._channel = Channel(
                end, self._handle, lambda: self._end(None)
            )
            assignment = assignment_to_json(self._assignment)
            channel.send({"assignment": assignment, **places})
            try:
                return await self._report
            finally:
                # The worker is gone. Its calls continue in the gateway, but nothing here
                # waits for them.
                for call in self._calls:
                    call.cancel()
                channel.close()
                # It refers to this object. In a circle, both would keep all that the
                # item needed until the garbage collector finds them.
                self._channel = None
                self._checkpoint.close()
        finally:
            self._end_turn()

    def _handle(self, message: Message) -> None:
        if events := message.get("events"):
            self._on_events(events)
        match message.get("op"):
            case "ask":
                self._end_turn()
                call = asyncio.create_task(self._answer(message))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
            case "ready":
                seconds = time.monotonic() - self._started
                event = {
                    "event": "worker-ready",
                    "pid": message["pid"],
                    "milliseconds": round(seconds * 1000, 1),
                }
                self._on_events([event])
            case "outcome":
                self._end(message)
            case "checkpoint":
                self._send(answer(self._checkpoint, message))

    def _end(self, report: Message | None) -> None:
        if not self._report.done():
            self._report.set_result(report)

    def _send(self, message: Message) -> None:
        if self._channel is not None:
            self._channel.send(message)

    async def _take_turn(self) -> None:
        turn = await self._pace.take_turn()
        self._end_turn()
        self._turn = turn

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.end()
            self._turn = None

    async def _answer(self, message: Message) -> None:
        """Answer one request, in any case: with a completion or an error."""
        reply: Message = {"op": "answer", "id": message["id"]}
        try:
            request = request_from_json(message["request"])
            self._check_request(request)
            got = await self._ask_gateway(request)
            await self._take_turn()
            self._send({**reply, "completion": completion_to_json(got.completion)})
        except ProviderError as error:
            failure = {"message": redact(str(error)), "failure": error.failure}
            self._send({**reply, "error": failure})
        # A bug in our own code: the worker still waits for an answer.
        except Exception as error:
            self._on_events([{"event": "error", "traceback": traceback.format_exc()}])
            text = redact(f"internal error: {type(error).__name__}: {error}")
            failure = {"message": text, "failure": Failure.INFRA}
            self._send({**reply, "error": failure})

    def _check_request(self, request: Request) -> None:
        """Refuse a question that is not this item's: its answer would be paid by another
        item, or by another model.
        """
        assignment = self._assignment
        item = assignment.item
        asked = (request.repository, request.workflow, request.item)
        is_own = asked == (assignment.repository, item.kind, item.id)
        if is_own and request.model == assignment.config.model_of(request.role):
            return
        raise ProviderError(
            "the worker asked for another item or model than it was given; run again",
            Failure.BAD_INPUT,
        )

    async def _ask_gateway(self, request: Request) -> Reply:
        started = time.monotonic()
        event: dict[str, Any] = {
            "event": "call",
            "node": request.node,
            "round": request.round,
            "purpose": request.purpose,
            "model": request.model,
        }
        try:
            answer = await self._gateway.answer(request, self._origin)
        except ProviderError as error:
            event |= {
                "seconds": _since(started),
                "failure": error.failure,
                "message": str(error),
            }
            self._on_events([event])
            raise
        completion = answer.completion
        event |= {
            "seconds": _since(started),
            "answered_by": completion.model,
            "from_journal": answer.from_journal,
            "retries": answer.retries,
            "asked_again": answer.was_asked_before,
            "waited_for_key": round(answer.waited, 4),
            "key": answer.key,
            **answer.cost.to_json(),
            "input_tokens": completion.usage.input_tokens,
            "output_tokens": completion.usage.output_tokens,
            "cached_tokens": completion.usage.cached_tokens,
        }
        self._on_events([event])
        return answer


def _since(started: float) -> float:
    return round(time.monotonic() - started, 4)
