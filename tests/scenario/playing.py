"""Play an answer to its caller: its pace, and what the script says goes wrong with
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

from tests.scenario.answers import (
    BROKEN_JSON,
    OTHER,
    wrap_verdict,
    write_answer,
)
from tests.scenario.desk import Admitted, Desk, Refused, scripted_refusal
from tests.scenario.formats import (
    CHARACTERS_PER_TOKEN,
    Format,
    Headers,
    Reply,
    Usage,
    count_tokens,
    read_json,
)
from tests.scenario.script import REFUSALS, Kind
from tests.scenario.wire import Outgoing

HUGE = 10 * 1024 * 1024
HTML = (
    b"<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n"
    b"<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>\n"
)
_TICK = 0.1
_LARGE_PIECE = 64 * 1024


async def refuse(
    refused: Refused, format: Format, desk: Desk, outgoing: Outgoing
) -> None:
    """Send the provider's refusal, a proxy's page, or nothing at all."""
    refusal = refused.refusal
    if refusal.kind is Kind.RESET:
        desk.note_refusal(refused, 0)
        outgoing.reset()
        return
    if refusal.kind is Kind.HTML:
        reply = Reply(refusal.status or 200, (("content-type", "text/html"),), HTML)
    else:
        reply = format.refuse(refusal, refused.call, refused.standing)
    desk.note_refusal(refused, reply.status)
    await outgoing.send(reply)


async def answer(
    admitted: Admitted, format: Format, desk: Desk, outgoing: Outgoing
) -> None:
    """Send an answer and settle it, also when its caller leaves before the end."""
    playing = _Playing(admitted, format, desk, outgoing)
    try:
        async with desk.slot():
            await playing.run()
    except (ConnectionError, TimeoutError):
        outgoing.can_go_on = False
    finally:
        playing.settle(has_left=True)


class _Playing:
    """One answer on its way."""

    def __init__(
        self, admitted: Admitted, format: Format, desk: Desk, outgoing: Outgoing
    ) -> None:
        self._admitted = admitted
        self._desk = desk
        self._is_settled = False
        self._call = admitted.call
        self._recognised = admitted.recognised
        self._standing = admitted.standing
        self._strike = admitted.strike
        self._kind = admitted.strike.fault.kind if admitted.strike else None
        self._format = format
        self._script = desk.script
        self._out = outgoing
        self.produced = 0
        """Tokens of the answer that were made: all at once of a whole answer, piece by
        piece of a stream.
        """

    def settle(self, has_left: bool) -> None:
        """Settle once; done before the last bytes, as whoever has read those looks into
        the ledger.
        """
        if not self._is_settled:
            self._is_settled = True
            self._desk.settle(self._admitted, self.produced, 200, has_left)

    async def run(self) -> None:
        """Play it to its end."""
        loop = asyncio.get_running_loop()
        begun = loop.time() + self._script.latency
        text, is_cut = await self._write()
        if is_cut or read_json(text.encode("utf-8", "replace")) is None:
            self._call = replace(self._call, answer_tool="")
        await asyncio.sleep(begun - loop.time())
        is_inside = self._strike is not None and self._strike.fault.in_stream
        if self._kind is Kind.SILENCE and not (is_inside and self._call.is_streamed):
            await self._keep_silent()
        served = self._admitted.served
        usage = Usage(
            self._call.input_tokens,
            count_tokens(text),
            served.read,
            served.written,
            is_cut,
        )
        await (
            self._stream(text, usage)
            if self._call.is_streamed
            else self._send(text, usage)
        )

    async def _write(self) -> tuple[str, bool]:
        if self._kind is Kind.EMPTY:
            return "", False
        if self._kind is Kind.HUGE:
            return "All work and no play. " * (HUGE // 22 + 1), False
        if (
            self._kind is Kind.BAD_JSON
            and self._strike
            and not self._strike.fault.in_stream
        ):
            return BROKEN_JSON, False
        turn = self._desk.take_turn(self._recognised)
        if self._recognised.purpose == OTHER:
            text = write_answer(self._recognised, self._script.answer, turn)
        else:
            text = await asyncio.to_thread(
                write_answer, self._recognised, self._script.answer, turn
            )
        if self._call.wraps_verdict:
            text = wrap_verdict(text)
        most = self._call.max_tokens * CHARACTERS_PER_TOKEN
        return (text[:most], True) if most and len(text) > most else (text, False)

    async def _send(self, text: str, usage: Usage) -> None:
        self.produced = usage.output_tokens
        await asyncio.sleep(self._script.first_byte + self._pace(usage.output_tokens))
        if self._kind is Kind.SLOW:
            await asyncio.sleep(self._delay(1.0))
        body = self._format.answer(self._call, text, usage)
        if (
            self._kind is Kind.BAD_JSON
            and self._strike
            and self._strike.fault.in_stream
        ):
            body = body[: len(body) // 2]
        headers = (("content-type", "application/json"), *self._headers())
        self.settle(has_left=False)
        if self._kind is Kind.CUT_STREAM:
            await self._out.send_half(Reply(200, headers, body))
        else:
            await self._out.send(Reply(200, headers, body))

    async def _stream(self, text: str, usage: Usage) -> None:
        loop = asyncio.get_running_loop()
        kind = (
            "text/event-stream; charset=utf-8"
            if self._call.is_sse
            else "application/json; charset=UTF-8"
        )
        await self._out.begin(
            200,
            (("content-type", kind), ("cache-control", "no-cache"), *self._headers()),
        )
        await self._out.chunk(self._format.opening(self._call, usage))
        await asyncio.sleep(self._script.first_byte)
        begun = loop.time()
        pieces = list(self._pieces(text))
        characters = 0
        for number, piece in enumerate(pieces):
            if number == len(pieces) // 2 and await self._is_over():
                return
            characters += len(piece)
            if self._script.tokens_per_second:
                await asyncio.sleep(
                    begun + self._pace(count_tokens(text[:characters])) - loop.time()
                )
            if self._kind is Kind.SLOW:
                await asyncio.sleep(self._delay(1.0))
            self.produced = -(-characters // CHARACTERS_PER_TOKEN)
            await self._out.chunk(self._format.piece(self._call, piece))
        self.settle(has_left=False)
        await self._out.end(self._format.closing(self._call, usage))

    async def _is_over(self) -> bool:
        """Let strike what strikes in the middle of a stream, and tell whether the
        stream ends there.
        """
        if self._strike is None:
            return False
        if self._kind is Kind.CUT_STREAM:
            self.settle(has_left=False)
            await self._out.end()
            return True
        if not self._strike.fault.in_stream:
            return False
        if self._kind is Kind.SILENCE:
            await self._keep_silent()
            return False
        if self._kind is Kind.RESET:
            self.settle(has_left=False)
            self._out.reset()
            return True
        if self._kind in REFUSALS:
            frame = self._format.error_frame(
                scripted_refusal(self._strike, self._script), self._call
            )
        elif self._kind is Kind.BAD_JSON:
            frame = self._format.broken_frame(self._call)
        else:
            return False
        self.settle(has_left=False)
        await self._out.end(frame)
        return True

    def _pieces(self, text: str) -> Iterator[str]:
        """Cut a text by what is made in a tick; with no pace into about eight pieces,
        but always into two.
        """
        by_pace = int(self._script.tokens_per_second * CHARACTERS_PER_TOKEN * _TICK)
        size = by_pace or min(max(len(text) // 8, 16), _LARGE_PIECE)
        size = max(min(size, -(-len(text) // 2)), 1)
        return (text[start : start + size] for start in range(0, len(text), size))

    def _pace(self, tokens: int) -> float:
        return (
            tokens / self._script.tokens_per_second
            if self._script.tokens_per_second
            else 0.0
        )

    def _headers(self) -> Headers:
        return self._format.headers(self._call, self._standing)

    async def _keep_silent(self) -> None:
        if self._strike is None:
            return
        try:
            async with asyncio.timeout(self._strike.delay):
                await self._desk.wait_until_lifted(self._strike.fault)
        except TimeoutError:
            return

    def _delay(self, default: float) -> float:
        return (
            default
            if self._strike is None or self._strike.delay is None
            else self._strike.delay
        )
