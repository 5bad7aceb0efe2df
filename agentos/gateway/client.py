"""The worker's side of the gateway: ask over the channel, wait for the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from agentos.errors import ProviderError
from agentos.gateway.wire import completion_from_json, request_to_json
from agentos.providers import Completion, Request
from agentos.workers import Assignment
from agentos.workers.channel import Message


class GatewayClient:
    """Ask for completions in the name of one item."""

    def __init__(self, assignment: Assignment, send: Callable[[Message], None]) -> None:
        self._assignment = assignment
        self._send = send
        self._waiting: dict[int, asyncio.Future[Completion]] = {}
        self._last = 0

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is outstanding."""
        return bool(self._waiting)

    async def ask(
        self,
        *,
        role: str,
        node: str,
        round: int,
        attempt: int,
        prompt: str,
        inputs: Mapping[str, str],
        schema: str,
    ) -> Completion:
        """Send one request and return its completion, or raise `ProviderError`."""
        assignment = self._assignment
        workflow = assignment.task.workflow
        request = Request(
            repository=assignment.repository,
            workflow=workflow,
            item=assignment.task.item,
            node=node,
            round=round,
            attempt=attempt,
            purpose=f"{workflow}.{role}",
            model=assignment.drafter if role == "draft" else assignment.reviewer,
            prompt=prompt,
            inputs=dict(inputs),
            schema=schema,
        )
        self._last += 1
        number = self._last
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._send({"op": "ask", "id": number, "request": request_to_json(request)})
        try:
            return await future
        finally:
            del self._waiting[number]

    def take_answer(self, message: Message) -> None:
        """Hand an answer that arrived to whoever waits for it."""
        future = self._waiting.get(message["id"])
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(ProviderError(message["error"]["message"], message["error"]["failure"]))
        else:
            future.set_result(completion_from_json(message["completion"]))
