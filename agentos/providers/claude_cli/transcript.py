"""What the `claude` command says, line by line, and what it comes to.

Measured with versions 2.1.197 and 2.1.325 and a server on loopback. A refusal by the API ends in a `result` with
`is_error` and `api_error_status`, after an `assistant` message with a name in `error`; both go through the table that
all providers share, the name because a lack of credit has status 400. A subscription that is used up is told by a
`rate_limit_event` with the time of its reset. What has words only is transient: HTML instead of an answer, a command
that ends without a result, and in the older version an error inside a stream. `retry-after` is not told at all.

`is_error` false is not enough: with the older version a stream that was cut off ends as a success with half an answer,
exit code 0 and no `stop_reason`. And one turn is not one request: after an answer that is empty, that reached the token
limit or that broke off early the command asks again by itself, up to three times, each of them paid for and none of
them in the budget. So it is given next to no money (`--max-budget-usd`): it stops by itself after the first answer,
which is then a `result` of the subtype `error_max_budget_usd`, and the answer is what the messages before it said. To
end it at the first sign of a second request was not enough: on a busy machine the request was out before the signal
came. It is kept for answers that are told to cost nothing.

A text is whole when the API's own event gave the reason why the model stopped. An answer in a form is whole when the
block that holds it is: the command prints a block only when its end has come, and marks JSON that it cannot parse. More
must not be asked for: the newer version, which runs the tool while the answer still comes in, is often out of money
before the last events have gone through it. It then closes the answer by events of its own, without a reason to stop
and with a count that is too small, though its `result` has the right one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentos.errors import ProviderError, Sign
from agentos.providers import NOTHING, UNKNOWN, Completion, Consumed
from agentos.providers.classify import Asked, bound_delay, classify, clean_words
from agentos.providers.claude_cli.child import Ending
from agentos.providers.claude_cli.counting import Count
from agentos.providers.streaming import ANSWER_LIMIT, count_tokens, join_text

_NORMAL = frozenset({"end_turn", "stop_sequence"})
_STRUCTURED = "tool_use"
_FULL = "model_context_window_exceeded"
_CUT = frozenset({"max_tokens", _FULL})
_REFUSED = "refusal"
_SYNTHETIC = "<synthetic>"
_PIECES = ("text", "thinking", "partial_json")

# The command's own names for refusals, in the words of the API's.
_REFUSALS = {
    "authentication_failed": "authentication_error",
    "oauth_org_not_allowed": "permission_error",
    "billing_error": "billing_error",
    "rate_limit": "rate_limit_error",
    "overloaded": "overloaded_error",
    "invalid_request": "invalid_request_error",
    "model_not_found": "not_found_error",
}
_UNREACHED = ("ConnectionRefused", "ECONNREFUSED", "FailedToOpenSocket", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH")
"""Codes with which a connection did not come about; the command has no other place for them than its words."""
_NO_LOGIN = 'claude has no valid login: run `claude` and log in, or add a key with provider = "claude-cli"'
_LAST_MOMENT = 10**11
_SPENT = "error_max_budget_usd"
_STRUCTURED_TOOL = "StructuredOutput"
_UNUSABLE_SUBTYPES = frozenset({"error_max_turns", "error_max_structured_output_retries"})


@dataclass(slots=True)
class Transcript:
    """The messages of one call so far."""

    asked: Asked
    max_tokens: int
    required: frozenset[str] | None = None
    """What a structured answer must have; None when a plain text is wanted."""
    is_login: bool = False
    """Whether the user's login is used, and no key."""
    _count: Count = field(default_factory=Count)
    _has_spoken: bool = False
    _requests: int = 0
    _finish: str = ""
    """Why the model stopped, as the API's own event said it."""
    _error: str = ""
    _status: int = 0
    _words: str = ""
    """What the command itself says instead of an answer."""
    _model: str = ""
    _reset: float | None = None
    _result: dict[str, Any] = field(default_factory=dict)
    _texts: list[str] = field(default_factory=list)
    _structure: str = ""
    """What the model gave to the tool by which an answer in a form is given, as JSON."""
    _has_tool: bool = False

    @property
    def is_structured(self) -> bool:
        """Whether an answer in a form is wanted."""
        return self.required is not None

    @property
    def has_begun(self) -> bool:
        """Whether a piece of the answer has arrived."""
        return self._count.has_begun

    @property
    def consumed(self) -> Consumed:
        """What the call has consumed so far; the command speaks before it asks."""
        if not self._has_spoken:
            return NOTHING
        usage = self._count.usage()
        if not usage.input_tokens and not usage.output_tokens:
            return UNKNOWN
        return Consumed(usage, self._count.is_whole)

    def take(self, line: bytes) -> bool:
        """Take a line; return whether it was the last that counts, raise when the call must end here."""
        message = _parse(line)
        self._has_spoken = self._has_spoken or "type" in message
        match message.get("type"):
            case "result":
                self._take_result(message)
                return True
            case "assistant":
                self._take_answer(message)
            case "system" if _text(message.get("subtype")).startswith("model_refusal"):
                # Told before the API's own event, which then is not told any more.
                self._finish = _REFUSED
            case "user" if message.get("isSynthetic") is True:
                raise self._asked_again()
            case "stream_event":
                self._take_event(_mapping(message.get("event")))
            case "rate_limit_event":
                self._take_limit(_mapping(message.get("rate_limit_info")))
        return False

    def complete(self, ending: Ending) -> Completion:
        """Return the answer if everything about it is as it should be, else raise what is wrong."""
        if self._structure and self._finish != _REFUSED:
            return self._return(self._structure)
        result = self._result
        if not result:
            raise self._transient(f"ended without a result (exit code {ending.code})", ending.complaint)
        # Only what was answered costs: with a reason to stop, the money went for a whole answer.
        is_spent = bool(result.get("subtype") == _SPENT and self._finish)
        if not is_spent and (result.get("is_error") is not False or result.get("subtype") != "success"):
            raise self._explain(result)
        if result.get("permission_denials") != []:
            raise self._unusable("the model asked for a tool that was denied")
        finish = _text(result.get("stop_reason")) or self._finish
        if not finish:
            raise self._transient("the answer was cut off, the stream ended without a stop reason")
        if finish not in _NORMAL and not (self.is_structured and finish == _STRUCTURED):
            raise self._stopped(finish)
        text = self._answer() if is_spent else self._whole(join_text([_text(result.get("result"))]))
        completion = self._return(text)
        if ending.code != 0 and not is_spent:
            raise self._transient(f"gave an answer but exit code {ending.code}", ending.complaint)
        return completion

    def _return(self, text: str) -> Completion:
        if not text.strip():
            raise self._unusable("the answer is empty")
        if len(text) > ANSWER_LIMIT:
            raise self._unusable(f"the answer is longer than {ANSWER_LIMIT} characters")
        count = self._count
        return Completion(text, self._answering_model(), count.usage(), is_counted=count.is_whole)

    def _take_result(self, result: dict[str, Any]) -> None:
        self._result = result
        self._count.take(_mapping(result.get("usage")))
        self._count.take_models([_mapping(model) for model in _mapping(result.get("modelUsage")).values()])
        self._status = self._status or _read_status(result)
        self._words = _text(result.get("result")) or self._words

    def _take_answer(self, said: Mapping[str, Any]) -> None:
        self._error = _text(said.get("error")) or self._error
        self._status = self._status or _read_status(said)
        message = _mapping(said.get("message"))
        content = message.get("content")
        blocks = [_mapping(block) for block in content] if isinstance(content, list) else []
        model = _text(message.get("model"))
        if model == _SYNTHETIC:
            self._words = " ".join(_text(block.get("text")) for block in blocks) or self._words
            return
        self._model = model or self._model
        for block in blocks:
            self._take_block(block)

    def _take_block(self, block: Mapping[str, Any]) -> None:
        if block.get("type") == "text":
            self._texts.append(_text(block.get("text")))
        elif block.get("type") == "tool_use":
            self._has_tool = True
            given = _mapping(block.get("input"))
            is_answer = self.is_structured and block.get("name") == _STRUCTURED_TOOL
            # The command, which is not let go on, would have checked it.
            if is_answer and given and (self.required or set()) <= given.keys():
                self._structure = join_text([json.dumps(given, ensure_ascii=False)])

    def _answer(self) -> str:
        if self.is_structured or self._has_tool:
            raise self._unformed()
        return join_text(self._texts)

    def _whole(self, last: str) -> str:
        """Return all parts of an answer of which the command names only the last."""
        said = join_text(self._texts)
        return said if last.strip() and not self.is_structured and said.endswith(last) else last

    def _take_event(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                self._requests += 1
                if self._requests > 1:
                    raise self._asked_again()
                self._count.open(_mapping(_mapping(event.get("message")).get("usage")))
            case "content_block_delta":
                delta = _mapping(event.get("delta"))
                for name in _PIECES:
                    self._count.see(_text(delta.get(name)))
            case "message_delta":
                self._take_end(event)
            case "message_stop" if not (self._finish or self._has_tool or self._error):
                raise self._asked_again()

    def _take_end(self, event: Mapping[str, Any]) -> None:
        self._count.take(_mapping(event.get("usage")))
        finish = _text(_mapping(event.get("delta")).get("stop_reason"))
        if finish:
            self._finish = finish
            self._count.is_whole = True
        if self._finish in _CUT and not self._structure:
            raise self._stopped(self._finish)

    def _take_limit(self, info: Mapping[str, Any]) -> None:
        reset = info.get("resetsAt")
        if info.get("status") == "rejected" and isinstance(reset, int | float) and 0 < reset < _LAST_MOMENT:
            self._reset = float(reset)

    def _asked_again(self) -> ProviderError:
        """Return the error for an answer with which the command is not content."""
        if self._finish:
            form = "not in the form that was asked for" if self.is_structured else "empty"
            return self._unusable(f"the answer is {form}")
        return self._transient("the answer broke off")

    def _explain(self, result: Mapping[str, Any]) -> ProviderError:
        if _text(result.get("subtype")) in _UNUSABLE_SUBTYPES:
            return self._unformed()
        if result.get("subtype") == _SPENT and not self._error:
            # A tool that was used while the answer came in can hide its end, but not its count.
            is_answered = self._has_tool and self._count.is_whole
            return self._unformed() if is_answered else self._transient("the answer broke off")
        if self._error == "max_output_tokens":
            return self._stopped("max_tokens")
        if result.get("stop_reason") == _REFUSED:
            return self._stopped(_REFUSED)
        return self._refused()

    def _refused(self) -> ProviderError:
        """Return the error that the API, or the way to it, gave instead of an answer."""
        code = next((code for code in _UNREACHED if f"({code})" in self._words), "")
        if code and not self._status and not self._requests:
            why = f"{self.asked.provider} cannot be reached ({code}): check the network and the base URL"
            return ProviderError(why, consumed=NOTHING)
        is_refusal = bool(self._status or self._error in _REFUSALS)
        body = {"type": _REFUSALS.get(self._error, "api_error"), "message": self._words}
        # Status 200 lets the name of the error decide.
        error = classify(self._status or 200, body, {}, time.time(), self.asked)
        if error.sign is Sign.AUTH and self.is_login:
            error = ProviderError(_NO_LOGIN, sign=Sign.AUTH)
        if error.sign is Sign.RATE_LIMIT and self._reset is not None:
            error = ProviderError(str(error), sign=Sign.QUOTA, delay=bound_delay(self._reset - time.time()))
        # The status is told also of an error that came inside a stream.
        error.consumed = NOTHING if is_refusal and not self.has_begun else None
        return error

    def _stopped(self, finish: str) -> ProviderError:
        if finish == _FULL:
            return self._unusable(f"the answer was cut, the model's context is full ({finish})")
        if finish in _CUT:
            return self._unusable(f"the answer was cut at {self.max_tokens} tokens ({finish})")
        return self._unusable(f"the model stopped for {clean_words(finish, limit=80)}")

    def _unformed(self) -> ProviderError:
        form = "in the form that was asked for" if self.is_structured else "in text"
        return self._unusable(f"the model did not answer {form}")

    def _unusable(self, why: str) -> ProviderError:
        return ProviderError(f"{self.asked.provider}: {why}", sign=Sign.BAD_ANSWER)

    def _transient(self, what: str, words: str = "") -> ProviderError:
        said = clean_words(words, self.asked.secret)
        return ProviderError(f"{self.asked.provider}: {what}" + (f": {said}" if said else ""))

    def _answering_model(self) -> str:
        """Return the model that wrote most, without the mark of a large context (`[1m]`)."""
        used = _mapping(self._result.get("modelUsage"))
        named = max(used, key=lambda name: count_tokens(_mapping(used[name]).get("outputTokens")), default=self._model)
        return clean_words(named.partition("[")[0], self.asked.secret, 100) or self.asked.model or "claude"


def _read_status(message: Mapping[str, Any]) -> int:
    """Return the HTTP status of a refusal, 0 when none is told."""
    status = message.get("api_error_status")
    return status if isinstance(status, int) and 300 <= status < 600 else 0


def _parse(line: bytes) -> dict[str, Any]:
    """Return a line's message; what is none is a sign of life and nothing more."""
    try:
        return _mapping(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
