"""Ask a load's questions, as a process of its own: `python -m benchmarks.askers WAY
PLAN.json`, which prints JSON.

Several askers take one item after the other and ask its questions in order. A way is
how a call is made: through the gateway, by turns with the keys and with growing waits
after a refusal, or through LiteLLM's Router. The last one runs in an environment that
has nothing of ours, so nothing of ours is imported here but where it is used.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

Plan = dict[str, Any]
Question = dict[str, Any]
Ask = Callable[[Question], Awaitable[int]]
"""Make one call until it is answered; return how often it was given up before by
whoever makes it.
"""

MINUTE = 60.0
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
RETRIES = 3
COOLDOWN = 5.0


async def ask_all(plan: Plan, ask: Ask) -> int:
    """Let the askers work through all items; return how many calls were given up and
    made again.
    """
    items = iter(plan["items"])
    given_up = 0

    async def work() -> None:
        nonlocal given_up
        for item in items:
            for question in item:
                given_up += await ask(question)

    await asyncio.gather(*(work() for _ in range(plan["askers"])))
    return given_up


@asynccontextmanager
async def through_gateway(plan: Plan) -> AsyncIterator[Ask]:
    """Ask as the coordinator of a run does: pool and journal on disk, keys from the key
    file.
    """
    from agentos.gateway.access import (
        GivenPrices,
        gather_access,
        open_journal,
        open_pool,
    )
    from agentos.gateway.providers import Request, ask_once
    from agentos.gateway.server import Gateway

    home, model = (
        Path(os.environ["AGENTOS_HOME"]),
        f"{plan['provider']}:{plan['model']}",
    )
    means = gather_access([model], os.environ, home, GivenPrices.read([f"{model}=0/0"]))
    pool = open_pool(means, os.environ, home, lambda text: print(text, file=sys.stderr))
    journal = open_journal(
        means, home, "run", lambda text: print(text, file=sys.stderr)
    )
    gateway = Gateway(journal, pool, price=means.price)
    for key in means.keys:
        # Loading an SDK is no part of a minute that is scaled down.
        await gateway.provider(model).check(key.credential)

    async def ask(question: Question) -> int:
        role = question["role"]
        request = Request(
            repository="r",
            workflow="lld",
            item=question["item"],
            node=role,
            round=question["round"],
            attempt=1,
            purpose=f"lld.{role}",
            model=model,
            messages=ask_once(question["prompt"]),
            inputs={},
        )
        answer = await gateway.answer(request)
        assert answer.completion.text, question["item"]
        return 0

    yield ask
    await gateway.close()
    pool.close()
    journal.close()


@asynccontextmanager
async def by_turns(plan: Plan) -> AsyncIterator[Ask]:
    """Ask with the keys by turns; after a refusal wait a time that doubles, half of it
    by chance.
    """
    from openai import AsyncOpenAI, RateLimitError

    clients = [
        AsyncOpenAI(api_key=key["secret"], base_url=f"{plan['url']}/v1", max_retries=0)
        for key in plan["keys"]
    ]
    turns = itertools.cycle(clients)

    async def ask(question: Question) -> int:
        wait = scale(plan, FIRST_WAIT)
        while True:
            try:
                await read_stream(
                    next(turns).chat.completions.create, plan["model"], question
                )
            except RateLimitError:
                await asyncio.sleep(wait * random.uniform(0.5, 1.0))
                wait = min(2 * wait, scale(plan, LONGEST_WAIT))
            else:
                return 0

    yield ask
    for client in clients:
        await client.close()


@asynccontextmanager
async def through_litellm(plan: Plan) -> AsyncIterator[Ask]:
    """Ask through LiteLLM's Router, limits declared; what it gives up is asked again
    after a moment.
    """
    # Read when it is imported: its waits are scaled like the minute, and its prices are
    # those it has with it.
    os.environ["INITIAL_RETRY_DELAY"] = str(scale(plan, 0.5))
    os.environ["MAX_RETRY_DELAY"] = str(scale(plan, 8.0))
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    litellm: Any = import_module("litellm")
    litellm.suppress_debug_info = True
    # Raised when all its deployments cool down, and none of its other errors.
    all_resting = import_module("litellm.types.router").RouterRateLimitError
    _scale_minutes(plan)
    deployments = [
        {
            "model_name": "any",
            "litellm_params": {
                "model": f"openai/{plan['model']}",
                "api_key": key["secret"],
                "api_base": f"{plan['url']}/v1",
                "rpm": key["requests"],
                "tpm": key["tokens"],
            },
        }
        for key in plan["keys"]
    ]
    router = litellm.Router(
        model_list=deployments,
        routing_strategy=plan["strategy"],
        num_retries=RETRIES,
        cooldown_time=scale(plan, COOLDOWN),
    )

    async def ask(question: Question) -> int:
        for given_up in itertools.count():
            try:
                await read_stream(router.acompletion, "any", question)
            except (litellm.RateLimitError, all_resting):
                await asyncio.sleep(scale(plan, FIRST_WAIT))
            else:
                return given_up
        raise AssertionError

    yield ask


def _scale_minutes(plan: Plan) -> None:
    """Let its minutes, by which it counts requests and tokens, pass as fast as the
    server's.
    """

    def tell_time() -> datetime:
        return datetime.fromtimestamp(time.time() * MINUTE / plan["window"], UTC)

    for module in list(sys.modules.values()):
        if module.__name__.startswith("litellm") and "get_utc_datetime" in vars(module):
            vars(module)["get_utc_datetime"] = tell_time


async def read_stream(
    create: Callable[..., Any], model: str, question: Question
) -> None:
    """Read a streamed answer to its end."""
    stream = await create(
        model=model,
        messages=[{"role": "user", "content": question["prompt"]}],
        stream=True,
        stream_options={"include_usage": True},
    )
    text = ""
    async for chunk in stream:
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
    assert text, question["item"]


def scale(plan: Plan, seconds: float) -> float:
    """Return what a time is where a minute is a window."""
    return float(seconds * plan["window"] / MINUTE)


WAYS = {"gateway": through_gateway, "turns": by_turns, "litellm": through_litellm}


async def _run(way: str, plan: Plan) -> dict[str, Any]:
    async with WAYS[way](plan) as ask:
        started = time.monotonic()
        given_up = await ask_all(plan, ask)
        return {
            "seconds": time.monotonic() - started,
            "given_up": given_up,
            "cpu_seconds": time.process_time(),
        }


def main() -> int:
    """Ask everything and print how long it took."""
    way, path = sys.argv[1:]
    print(json.dumps(asyncio.run(_run(way, json.loads(Path(path).read_text("utf-8"))))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
