"""What the `claude` command says, line by line, and what it comes to.

Measured with version 2.1.197 and a server on loopback. A refusal by the API ends in a `result` with `is_error` and
`api_error_status`, after an `assistant` message with a name in `error`; both go through the table that all providers
share, the name because a lack of credit has status 400. A subscription that is used up is told by a `rate_limit_event`
with the time of its reset. What has words only is transient: an error inside a stream, HTML instead of an answer, a
command that ends without a result. `retry-after` is not told at all.

`is_error` false is not enough: a stream that was cut off ends as a success with half an answer, exit code 0 and no
`stop_reason`. And one turn is not one request: after an answer that is empty, that reached the token limit or that
broke off early the command asks again by itself, up to three times, each of them paid for and none of them in the
budget. So it is given next to no money (`--max-budget-usd`): it stops by itself after the first answer, which is then
a `result` of the subtype `error_max_budget_usd`, and the answer is what the messages before it said. To end it at the
first sign of a second request was not enough: on a busy machine the request was out before the signal came. It is kept
for answers that are told to cost nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentos.errors import ProviderError, Sign
from agentos.providers import Completion, Usage
from agentos.providers.classify import Asked, bound_delay, classify, clean_words
from agentos.providers.claude_cli.child import Ending
from agentos.providers.streaming import ANSWER_LIMIT, count_tokens, join_text

_NORMAL = frozenset({"end_turn", "stop_sequence"})
_STRUCTURED = "tool_use"
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_SYNTHETIC = "<synthetic>"
_INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_MODEL_INPUT_COUNTS = ("inputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")

# The command's own names for errors, in the words of the API's.
_NAMES = {
    "authentication_failed": "authentication_error",
    "oauth_org_not_allowed": "permission_error",
    "billing_error": "billing_error",
    "rate_limit": "rate_limit_error",
    "overloaded": "overloaded_error",
    "invalid_request": "invalid_request_error",
    "model_not_found": "not_found_error",
    "server_error": "api_error",
}
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
    _requests: int = 0
    _finish: str = ""
    """Why the model stopped, as the API's own event said it."""
    _error: str = ""
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

    def take(self, line: bytes) -> bool:
        """Take a line; return whether it was the last that counts, raise when the call must end here."""
        message = _parse(line)
        match message.get("type"):
            case "result":
                self._result = message
                return True
            case "assistant":
                self._error = _text(message.get("error")) or self._error
                self._take_answer(_mapping(message.get("message")))
            case "system" if _text(message.get("subtype")).startswith("model_refusal"):
                # Told before the API's own event, which then is not told any more.
                self._finish = "refusal"
            case "user" if message.get("isSynthetic") is True:
                raise self._asked_again()
            case "stream_event":
                self._take_event(_mapping(message.get("event")))
            case "rate_limit_event":
                self._take_limit(_mapping(message.get("rate_limit_info")))
        return False

    def complete(self, ending: Ending) -> Completion:
        """Return the answer if everything about it is as it should be, else raise what is wrong."""
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
        if not text.strip():
            raise self._unusable("the answer is empty")
        if len(text) > ANSWER_LIMIT:
            raise self._unusable(f"the answer is longer than {ANSWER_LIMIT} characters")
        if ending.code != 0 and not is_spent:
            raise self._transient(f"gave an answer but exit code {ending.code}", ending.complaint)
        return Completion(text, self._answering_model(result), _usage(result))

    def _take_answer(self, message: Mapping[str, Any]) -> None:
        model = _text(message.get("model"))
        if model == _SYNTHETIC:
            return
        self._model = model or self._model
        content = message.get("content")
        for block in map(_mapping, content if isinstance(content, list) else []):
            if block.get("type") == "text":
                self._texts.append(_text(block.get("text")))
            elif block.get("type") == "tool_use":
                self._has_tool = True
                given = _mapping(block.get("input"))
                # The command, which is not let go on, would have checked it.
                if block.get("name") == _STRUCTURED_TOOL and (self.required or set()) <= given.keys():
                    self._structure = join_text([json.dumps(given, ensure_ascii=False)])

    def _answer(self) -> str:
        is_formed = bool(self._structure) if self.is_structured else not self._has_tool
        if not is_formed:
            raise self._unformed()
        return self._structure if self.is_structured else join_text(self._texts)

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
            case "message_delta":
                self._finish = _text(_mapping(event.get("delta")).get("stop_reason")) or self._finish
                if self._finish in _CUT:
                    raise self._stopped(self._finish)
            case "message_stop" if not self._finish:
                raise self._asked_again()

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
        if self._error == "max_output_tokens":
            return self._stopped("max_tokens")
        if result.get("stop_reason") == "refusal":
            return self._stopped("refusal")
        body = {"type": _NAMES.get(self._error, "api_error"), "message": _text(result.get("result"))}
        error = classify(_status(result), body, {}, time.time(), self.asked)
        if error.sign is Sign.AUTH and not self.asked.secret:
            return ProviderError(_NO_LOGIN, sign=Sign.AUTH)
        if error.sign is Sign.RATE_LIMIT and self._reset is not None:
            return ProviderError(str(error), sign=Sign.QUOTA, delay=bound_delay(self._reset - time.time()))
        return error

    def _stopped(self, finish: str) -> ProviderError:
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

    def _answering_model(self, result: Mapping[str, Any]) -> str:
        """Return the model that wrote most, without the mark of a large context (`[1m]`)."""
        used = _mapping(result.get("modelUsage"))
        named = max(used, key=lambda name: count_tokens(_mapping(used[name]).get("outputTokens")), default=self._model)
        return clean_words(named.partition("[")[0], self.asked.secret, 100) or self.asked.model or "claude"


def _status(result: Mapping[str, Any]) -> int:
    """Return the HTTP status of a refusal; 200 lets the name of the error decide."""
    status = result.get("api_error_status")
    return status if isinstance(status, int) and 300 <= status < 600 else 200


def _usage(result: Mapping[str, Any]) -> Usage:
    """Return the larger of the two counts: that by model includes requests beside the one for the answer."""
    usage = _mapping(result.get("usage"))
    models = [_mapping(model) for model in _mapping(result.get("modelUsage")).values()]
    asked = count_tokens(*(usage.get(name) for name in _INPUT_COUNTS))
    answered = count_tokens(usage.get("output_tokens"))
    asked_by_model = count_tokens(*(model.get(name) for model in models for name in _MODEL_INPUT_COUNTS))
    answered_by_model = count_tokens(*(model.get("outputTokens") for model in models))
    return Usage(max(asked, asked_by_model), max(answered, answered_by_model))


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
