"""Run an item's tests without its code while a model writes that code.

If the item changes a single file, this run is the same as one with that file reverted,
so validation does not have to repeat it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

from agentos.gateway.providers import Completion, Message
from agentos.workflows.implementation import accepting, proving
from agentos.workflows.implementation.context import BuildContext
from agentos.workflows.implementation.state import ImplementationState
from agentos.workflows.looking import AskTurn


class Beside:
    """Runs the tests while the model gives its first answer, if the run may be useful
    and is not known from the red proof.
    """

    def __init__(
        self, state: ImplementationState, context: BuildContext, snapshot: str
    ) -> None:
        self.result: dict[str, Any] = state.get("bare", {})
        """The run without the code, empty while unknown."""
        self._workspace = context.workspace
        self._scaffold = state["scaffolds"][-1]
        self._snapshot = snapshot
        self._is_wanted = (
            len(context.blueprint.provable) == 1
            and not state["iterations"]
            and not self.result
        )

    def wrap(self, ask: AskTurn) -> AskTurn:
        """Return what asks a turn; the first one has the tests run beside it."""
        if not self._is_wanted:
            return ask

        async def ask_beside(said: Sequence[Message]) -> Completion:
            if not self._is_wanted:
                return await ask(said)
            self._is_wanted = False
            return await self._run_beside(ask(said))

        return ask_beside

    async def _run_beside(self, asking: Awaitable[Completion]) -> Completion:
        running = asyncio.ensure_future(self._run())
        try:
            answer = await asking
        finally:
            running.cancel()
            results = await asyncio.gather(running, return_exceptions=True)
        await self._workspace.restore(self._snapshot)
        run = results[0]
        if isinstance(run, dict):
            self.result = run
        return answer

    async def _run(self) -> dict[str, Any]:
        run = await self._workspace.test(accepting.selection(self._scaffold))
        run = proving.own_tests(run, self._scaffold)
        return proving.as_state(run) if run.is_valid else {}
