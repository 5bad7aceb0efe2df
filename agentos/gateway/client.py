"""The worker's side of the gateway: send requests over the channel and wait for the
answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentos.errors import ProviderError
from agentos.gateway.providers import Completion, Message, Request
from agentos.gateway.roles import role_of
from agentos.gateway.wire import completion_from_json, request_to_json

Frame = dict[str, Any]
"""A message of the channel between worker and coordinator."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Item that a client asks for, and its models."""

    repository: str
    workflow: str
    item: str
    model_of: Callable[[str], str]
    """Returns the model of a role."""


class GatewayClient:
    """Ask for completions on behalf of one item."""

    def __init__(self, asker: Asker, send: Callable[[Frame], None]) -> None:
        self._asker = asker
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
        messages: Sequence[Message],
        inputs: Mapping[str, str],
        schema: str,
    ) -> Completion:
        """Send a request and return its completion, or raise `ProviderError`.

        The role is one of the item's kind, or that of another kind with its name:
        `lld.draft`.
        """
        asker = self._asker
        purpose = role
        if "." not in role:
            purpose = f"{asker.workflow}.{role}"
        own_role = role.rpartition(".")[2]
        request = Request(
            repository=asker.repository,
            workflow=asker.workflow,
            item=asker.item,
            node=node,
            round=round,
            attempt=attempt,
            purpose=purpose,
            model=asker.model_of(role_of(own_role)),
            messages=tuple(messages),
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

    def take_answer(self, message: Frame) -> None:
        """Hand an arrived answer to the request that waits for it."""
        future = self._waiting.get(message["id"])
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(
                ProviderError(message["error"]["message"], message["error"]["failure"])
            )
        else:
            future.set_result(completion_from_json(message["completion"]))
