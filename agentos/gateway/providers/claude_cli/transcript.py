"""Read the output of the `claude` command line by line, and derive the answer from it.

Measured with versions 2.1.197 and 2.1.325 and a server on loopback.

Errors. A refusal by the API ends in a `result` with `is_error` and `api_error_status`,
after an `assistant` message with a name in `error`. Both are classified as for all
providers, the name because a lack of credit has status 400. A used-up subscription is
reported by a `rate_limit_event` with the time of its reset. Errors that have only words
are transient: HTML instead of an answer, a command that ends without a result, and in
the older version an error inside a stream. `retry-after` is not reported at all.

When an answer is whole. `is_error` false is not enough: with the older version a stream
that broke off ends as a success with half an answer, exit code 0 and no `stop_reason`. A
text is whole when the API's own event gave the reason why the model stopped. A
structured answer is whole when its block is: the command prints a block only when its
end has arrived, and marks JSON that it cannot parse. More must not be required: the
newer version runs the tool while the answer still arrives, and is often out of money
before the last events have passed through it. It then closes the answer with events of
its own, without a reason to stop and with a count that is too small, though its
`result` has the right one.

Repeated requests. One turn is not one request: after an answer that is empty, that
reached the token limit or that broke off early, the command asks again by itself, up to
three times, each of them paid for and none of them in the budget. So it gets almost no
money (`--max-budget-usd`). It then stops by itself after the first answer with a
`result` of the subtype `error_max_budget_usd`, and the answer is in the messages before
it. Ending the command when a second request shows up was not enough: on a busy machine
the request was out before the signal arrived. That remains for answers that are reported
to cost nothing.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from agentos.errors import FailureCause, ProviderError
from agentos.gateway.providers import Completion
from agentos.gateway.providers.classify import (
    CallInfo,
    bound_delay,
    classify,
    clean_words,
)
from agentos.gateway.providers.claude_cli.child import ChildExit
from agentos.gateway.providers.claude_cli.counting import Count, Report
from agentos.gateway.providers.streaming import ANSWER_LIMIT, count_tokens, join_text
from agentos.usage import NOTHING, UNKNOWN, Consumed

_NORMAL = frozenset({"end_turn", "stop_sequence"})
_STRUCTURED = "tool_use"
_FULL = "model_context_window_exceeded"
_CUT = frozenset({"max_tokens", _FULL})
_REFUSED = "refusal"
_SYNTHETIC = "<synthetic>"
_PIECES = ("text", "thinking", "partial_json")

# Names of refusals in the command, with the names in the API.
_REFUSALS = {
    "authentication_failed": "authentication_error",
    "oauth_org_not_allowed": "permission_error",
    "billing_error": "billing_error",
    "rate_limit": "rate_limit_error",
    "overloaded": "overloaded_error",
    "invalid_request": "invalid_request_error",
    "model_not_found": "not_found_error",
}
_UNREACHED = (
    "ConnectionRefused",
    "ECONNREFUSED",
    "FailedToOpenSocket",
    "ENOTFOUND",
    "EAI_AGAIN",
    "EHOSTUNREACH",
)
"""Codes of failed connections; the command reports them only within its words."""
_NO_LOGIN = (
    "claude has no valid login: run `claude` and log in, or add a key with provider ="
    ' "claude-cli"'
)
_LAST_MOMENT = 10**11
_SPENT = "error_max_budget_usd"
_STRUCTURED_TOOL = "StructuredOutput"
_UNUSABLE_SUBTYPES = frozenset(
    {"error_max_turns", "error_max_structured_output_retries"}
)


@dataclass(slots=True)
class Transcript:
    """Messages of one call so far."""

    asked: CallInfo
    max_tokens: int
    required: frozenset[str] | None = None
    """Required fields of a structured answer; None for a plain text."""
    is_login: bool = False
    """Whether the call uses the user's login rather than a key."""
    _count: Count = field(default_factory=Count)
    _has_spoken: bool = False
    _requests: int = 0
    _finish: str = ""
    """Why the model stopped, from the API's own event."""
    _error: str = ""
    _status: int = 0
    _words: str = ""
    """Message of the command itself instead of an answer."""
    _model: str = ""
    _reset: float | None = None
    _result: Report = field(default_factory=dict)
    _texts: list[str] = field(default_factory=list)
    _structure: str = ""
    """JSON input of the tool that returns a structured answer."""
    _has_tool: bool = False

    @property
    def is_structured(self) -> bool:
        """Whether a structured answer is wanted."""
        return self.required is not None

    @property
    def has_begun(self) -> bool:
        """Whether a piece of the answer has arrived."""
        return self._count.has_begun

    @property
    def consumed(self) -> Consumed:
        """Consumption so far; nothing until the first message, which precedes the
        request.
        """
        if not self._has_spoken:
            return NOTHING
        usage = self._count.usage()
        if not usage.input_tokens and not usage.output_tokens:
            return UNKNOWN
        return Consumed(usage, self._count.is_whole)

    def take(self, line: bytes) -> bool:
        """Take a line; return whether it was the last that counts, or raise to end the
        call.
        """
        message = _parse(line)
        self._has_spoken = self._has_spoken or "type" in message
        match message.get("type"):
            case "result":
                self._take_result(message)
                return True
            case "assistant":
                self._take_answer(message)
            case "system" if _text(message, "subtype").startswith("model_refusal"):
                # Comes instead of the API's own event.
                self._finish = _REFUSED
            case "user" if message.get("isSynthetic") is True:
                raise self._asked_again()
            case "stream_event":
                self._take_event(_child(message, "event"))
            case "rate_limit_event":
                self._take_limit(_child(message, "rate_limit_info"))
        return False

    def complete(self, ending: ChildExit) -> Completion:
        """Return the answer if it is whole, or raise what is wrong with it."""
        # The order follows the docstring of this module: to run out of budget is how a
        # good call ends.
        if self._structure and self._finish != _REFUSED:
            return self._return(self._structure)
        result = self._result
        if not result:
            what = f"ended without a result (exit code {ending.code})"
            raise self._transient(what, ending.complaint)
        subtype = result.get("subtype")
        # Only an answer costs money: with a reason to stop, it was spent on a whole
        # answer.
        is_spent = bool(subtype == _SPENT and self._finish)
        is_success = result.get("is_error") is False and subtype == "success"
        if not is_spent and not is_success:
            raise self._explain(result)
        if result.get("permission_denials") != []:
            raise self._unusable("the model asked for a tool that was denied")
        finish = _text(result, "stop_reason") or self._finish
        if not finish:
            raise self._transient(
                "the answer was cut off, the stream ended without a stop reason"
            )
        is_form = self.is_structured and finish == _STRUCTURED
        if finish not in _NORMAL and not is_form:
            raise self._stopped(finish)
        if is_spent:
            return self._return(self._answer())
        last = _text(result, "result")
        text = self._whole(join_text([last]))
        completion = self._return(text)
        if ending.code != 0:
            what = f"gave an answer but exit code {ending.code}"
            raise self._transient(what, ending.complaint)
        return completion

    def _return(self, text: str) -> Completion:
        if not text.strip():
            raise self._unusable("the answer is empty")
        if len(text) > ANSWER_LIMIT:
            raise self._unusable(f"the answer is longer than {ANSWER_LIMIT} characters")
        count = self._count
        return Completion(
            text, self._answering_model(), count.usage(), is_counted=count.is_whole
        )

    def _take_result(self, result: Report) -> None:
        self._result = result
        self._count.take(_child(result, "usage"))
        models = _child(result, "modelUsage")
        reports = list(map(_mapping, models.values()))
        self._count.take_models(reports)
        self._status = self._status or _read_status(result)
        self._words = _text(result, "result") or self._words

    def _take_answer(self, said: Report) -> None:
        self._error = _text(said, "error") or self._error
        self._status = self._status or _read_status(said)
        message = _child(said, "message")
        content = message.get("content")
        blocks: list[Report] = []
        if isinstance(content, list):
            blocks += map(_mapping, content)
        model = _text(message, "model")
        if model == _SYNTHETIC:
            texts = [_text(block, "text") for block in blocks]
            words = " ".join(texts)
            self._words = words or self._words
            return
        self._model = model or self._model
        for block in blocks:
            self._take_block(block)

    def _take_block(self, block: Report) -> None:
        kind = block.get("type")
        if kind == "text":
            self._texts.append(_text(block, "text"))
        if kind != "tool_use":
            return
        self._has_tool = True
        if self.required is None or block.get("name") != _STRUCTURED_TOOL:
            return
        # The command is stopped before it checks the fields itself.
        given = _child(block, "input")
        if given and self.required <= given.keys():
            answer = json.dumps(given, ensure_ascii=False)
            self._structure = join_text([answer])

    def _answer(self) -> str:
        if self.is_structured or self._has_tool:
            raise self._unformed()
        return join_text(self._texts)

    def _whole(self, last: str) -> str:
        """Return all parts of an answer of which the command reports only the last."""
        said = join_text(self._texts)
        if self.is_structured or not last.strip():
            return last
        if said.endswith(last):
            return said
        return last

    def _take_event(self, event: Report) -> None:
        match event.get("type"):
            case "message_start":
                self._requests += 1
                if self._requests > 1:
                    raise self._asked_again()
                message = _child(event, "message")
                self._count.open(_child(message, "usage"))
            case "content_block_delta":
                delta = _child(event, "delta")
                for name in _PIECES:
                    self._count.see(_text(delta, name))
            case "message_delta":
                self._take_end(event)
            case "message_stop" if not (self._finish or self._has_tool or self._error):
                raise self._asked_again()

    def _take_end(self, event: Report) -> None:
        self._count.take(_child(event, "usage"))
        delta = _child(event, "delta")
        finish = _text(delta, "stop_reason")
        if finish:
            self._finish = finish
            self._count.is_whole = True
        if self._finish in _CUT and not self._structure:
            raise self._stopped(self._finish)

    def _take_limit(self, info: Report) -> None:
        reset = info.get("resetsAt")
        if info.get("status") != "rejected":
            return
        if isinstance(reset, int | float) and 0 < reset < _LAST_MOMENT:
            self._reset = float(reset)

    def _asked_again(self) -> ProviderError:
        """Return the error for an answer that the command would repeat."""
        if not self._finish:
            return self._transient("the answer broke off")
        if self.is_structured:
            return self._unusable("the answer is not in the form that was asked for")
        return self._unusable("the answer is empty")

    def _explain(self, result: Report) -> ProviderError:
        subtype = _text(result, "subtype")
        if subtype in _UNUSABLE_SUBTYPES:
            return self._unformed()
        if subtype == _SPENT and not self._error:
            # A tool that ran while the answer arrived can hide the end of the answer,
            # but not its count.
            if self._has_tool and self._count.is_whole:
                return self._unformed()
            return self._transient("the answer broke off")
        if self._error == "max_output_tokens":
            return self._stopped("max_tokens")
        if result.get("stop_reason") == _REFUSED:
            return self._stopped(_REFUSED)
        return self._refused()

    def _refused(self) -> ProviderError:
        """Return the error that the API or the network gave instead of an answer."""
        if not self._status and not self._requests:
            for code in _UNREACHED:
                if f"({code})" in self._words:
                    return ProviderError(
                        f"{self.asked.provider} cannot be reached ({code}): check the"
                        " network and the base URL",
                        consumed=NOTHING,
                    )
        name = _REFUSALS.get(self._error)
        body = {"type": name or "api_error", "message": self._words}
        # With status 200 the name of the error decides.
        status = self._status or 200
        now = time.time()
        error = classify(status, body, {}, now, self.asked)
        if error.cause is FailureCause.AUTH and self.is_login:
            error = ProviderError(_NO_LOGIN, cause=FailureCause.AUTH)
        if error.cause is FailureCause.RATE_LIMIT and self._reset is not None:
            delay = bound_delay(self._reset - now)
            message = str(error)
            error = ProviderError(message, cause=FailureCause.QUOTA, delay=delay)
        # An error inside a stream has a status too.
        error.consumed = None
        if (self._status or name) and not self.has_begun:
            error.consumed = NOTHING
        return error

    def _stopped(self, finish: str) -> ProviderError:
        if finish == _FULL:
            return self._unusable(
                f"the answer was cut, the model's context is full ({finish})"
            )
        if finish in _CUT:
            return self._unusable(
                f"the answer was cut at {self.max_tokens} tokens ({finish})"
            )
        return self._unusable(f"the model stopped for {clean_words(finish, limit=80)}")

    def _unformed(self) -> ProviderError:
        form = "in the form that was asked for" if self.is_structured else "in text"
        return self._unusable(f"the model did not answer {form}")

    def _unusable(self, why: str) -> ProviderError:
        message = f"{self.asked.provider}: {why}"
        return ProviderError(message, cause=FailureCause.BAD_ANSWER)

    def _transient(self, what: str, words: str = "") -> ProviderError:
        message = f"{self.asked.provider}: {what}"
        said = clean_words(words, self.asked.secret)
        if said:
            message += f": {said}"
        return ProviderError(message)

    def _answering_model(self) -> str:
        """Return the model that wrote most, without the suffix of a large context
        (`[1m]`).
        """
        used = _child(self._result, "modelUsage")
        named = self._model
        most = -1
        for name, usage in used.items():
            report = _mapping(usage)
            written = count_tokens(report.get("outputTokens"))
            if written > most:
                named = name
                most = written
        plain, _, _ = named.partition("[")
        shown = clean_words(plain, self.asked.secret, 100)
        return shown or self.asked.model or "claude"


def _read_status(message: Report) -> int:
    """Return the HTTP status of a refusal, 0 without one."""
    status = message.get("api_error_status")
    if isinstance(status, int) and 300 <= status < 600:
        return status
    return 0


def _parse(line: bytes) -> Report:
    """Return the message of a line, empty for anything else."""
    try:
        return _mapping(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> Report:
    return value if isinstance(value, dict) else {}


def _child(message: Report, name: str) -> Report:
    return _mapping(message.get(name))


def _text(message: Report, name: str) -> str:
    value = message.get(name)
    return value if isinstance(value, str) else ""
