"""The coordinator's side of a worker's channel: hand over the assignment, answer questions, hear the report."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentos.errors import ProviderError
from agentos.gateway.leaks import Origin
from agentos.gateway.server import Answer, Gateway
from agentos.gateway.wire import completion_to_json, request_from_json
from agentos.providers import Request
from agentos.redaction import redact
from agentos.task import Failure
from agentos.workers import Assignment, Event, Output
from agentos.workers.channel import Channel, Message
from agentos.workers.fork_server import Worker
from agentos.workers.messages import assignment_to_json
from agentos.workers.pacing import Pace, Turn


class Conversation:
    """All that is said between the coordinator and one worker."""

    def __init__(
        self,
        gateway: Gateway,
        pace: Pace,
        assignment: Assignment,
        on_events: Callable[[Sequence[Event]], None],
    ) -> None:
        self._gateway = gateway
        self._pace = pace
        self._turn: Turn | None = None
        self._assignment = assignment
        self._origin = Origin(Path(assignment.publication.repository), assignment.task.source)
        self._on_events = on_events
        self._asked = 0.0
        """When the worker was set to work."""
        self._channel: Channel | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._report: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()

    async def hold(self, worker: Worker, output: Output, lock: int) -> Message | None:
        """Set the worker to work and serve it until it has reported or is gone; return its report."""
        await self._take_turn()
        try:
            self._asked = time.monotonic()
            worker.begin(output.stdout, output.stderr, lock)
            output.close_write_ends()
            channel = self._channel = Channel(worker.channel, self._hear, lambda: self._end(None))
            channel.send(assignment_to_json(self._assignment))
            try:
                return await self._report
            finally:
                # The worker is gone; what it asked goes on in the gateway, only nobody here waits for it.
                for call in self._calls:
                    call.cancel()
                channel.close()
        finally:
            self._end_turn()

    def _hear(self, message: Message) -> None:
        if events := message.get("events"):
            self._on_events(events)
        match message.get("op"):
            case "ask":
                self._end_turn()
                call = asyncio.create_task(self._answer(message))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
            case "ready":
                milliseconds = round((time.monotonic() - self._asked) * 1000, 1)
                self._on_events([{"event": "worker-ready", "pid": message["pid"], "milliseconds": milliseconds}])
            case "outcome":
                self._end(message)

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
        """Answer one question; whatever goes wrong, the worker hears of it."""
        reply: Message = {"op": "answer", "id": message["id"]}
        try:
            answer = await self._ask_gateway(request_from_json(message["request"]))
            await self._take_turn()
            self._send({**reply, "completion": completion_to_json(answer.completion)})
        except ProviderError as error:
            self._send({**reply, "error": {"message": redact(str(error)), "failure": error.failure}})
        except Exception as error:
            self._on_events([{"event": "error", "traceback": traceback.format_exc()}])
            told = redact(f"internal error: {type(error).__name__}: {error}")
            self._send({**reply, "error": {"message": told, "failure": Failure.INFRA}})

    async def _ask_gateway(self, request: Request) -> Answer:
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
            failed = {"seconds": _since(started), "failure": error.failure, "message": str(error)}
            self._on_events([{**event, **failed}])
            raise
        completion = answer.completion
        told = {
            **event,
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
        self._on_events([told])
        return answer


def _since(started: float) -> float:
    return round(time.monotonic() - started, 4)
