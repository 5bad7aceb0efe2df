"""Gemini generateContent and streamGenerateContent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tests.scenario.formats import (
    Call,
    Headers,
    HttpRequest,
    Refusal,
    Reply,
    Standing,
    Usage,
    collect_text,
    dump,
    make_id,
    read_json,
    whole_number,
)
from tests.scenario.script import Kind

_SERVICE = "generativelanguage.googleapis.com"
_VERSIONS = ("/v1beta/models/", "/v1/models/", "/v1alpha/models/")
_METHODS = ("generateContent", "streamGenerateContent", "countTokens")
_SCHEMAS = ("responseJsonSchema", "responseSchema", "_responseJsonSchema")
_RPC = "type.googleapis.com/google.rpc."
_ERRORS = {
    Kind.RATE_LIMIT: (429, "RESOURCE_EXHAUSTED"),
    Kind.DAILY_QUOTA: (429, "RESOURCE_EXHAUSTED"),
    Kind.SPEND_LIMIT: (429, "RESOURCE_EXHAUSTED"),
    Kind.BILLING: (403, "PERMISSION_DENIED"),
    Kind.CREDIT: (429, "RESOURCE_EXHAUSTED"),
    Kind.OVERLOADED: (503, "UNAVAILABLE"),
    Kind.CAPACITY: (429, "RESOURCE_EXHAUSTED"),
    Kind.AUTH: (400, "INVALID_ARGUMENT"),
    Kind.SERVER_ERROR: (500, "INTERNAL"),
    Kind.NOT_FOUND: (404, "NOT_FOUND"),
    Kind.BAD_REQUEST: (400, "INVALID_ARGUMENT"),
}
_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_MESSAGES = {
    Kind.SPEND_LIMIT: "Your project has exceeded its monthly spending cap. Please go to AI Studio to manage it.",
    Kind.BILLING: "This API method requires billing to be enabled. Please enable billing on project #scenario.",
    Kind.CREDIT: "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.",
    Kind.OVERLOADED: "The model is overloaded. Please try again later.",
    Kind.SERVER_ERROR: (
        "An internal error has occurred. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting"
    ),
    Kind.BAD_REQUEST: "* GenerateContentRequest.contents: contents is not specified\n",
}
_QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "head to: https://ai.google.dev/gemini-api/docs/rate-limits. "
    "To monitor your current usage, head to: https://ai.dev/rate-limit. "
)
_INVALID = "API key not valid. Please pass a valid API key."
_LEAKED = "Your API key was reported as leaked. Please use another API key."


class Gemini:
    """The format of `POST /v1beta/models/MODEL:generateContent`."""

    name = "gemini"

    def find_secret(self, request: HttpRequest) -> str:
        """Return the key of a request."""
        return request.headers.get("x-goog-api-key", "") or request.query.get("key", "")

    def read_call(self, request: HttpRequest) -> Call | Refusal | None:
        """Read a call for content."""
        model, method = split_path(request.path)
        if request.method != "POST" or method not in _METHODS:
            return None
        body = read_json(request.body)
        if body is None:
            return Refusal(
                Kind.BAD_REQUEST,
                message="Invalid JSON payload received. Unexpected token.\n",
            )
        contents = body.get("contents")
        if not isinstance(contents, list) or not contents:
            return Refusal(Kind.BAD_REQUEST)
        config = body.get("generationConfig")
        config = config if isinstance(config, dict) else {}
        system = body.get("systemInstruction")
        turns = [system, *contents]
        return Call(
            format=self.name,
            secret=self.find_secret(request),
            model=model,
            texts=tuple(
                text
                for turn in turns
                if isinstance(turn, dict)
                for text in collect_text(turn.get("parts"))
            ),
            is_streamed=method == "streamGenerateContent",
            is_sse=request.query.get("alt") == "sse",
            has_schema=any(config.get(name) for name in _SCHEMAS),
            max_tokens=whole_number(config.get("maxOutputTokens")),
            request_id=make_id("", 22),
        )

    def list_models(self, models: Sequence[str]) -> Any:
        """Return the list of models."""
        methods = ["generateContent", "countTokens"]
        rows = [
            {
                "name": f"models/{name}",
                "version": "001",
                "displayName": name,
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": methods,
            }
            for name in models
        ]
        return {"models": rows}

    def count_reply(self, tokens: int) -> Any:
        """Return a count of tokens."""
        return {"totalTokens": tokens}

    def headers(self, call: Call, standing: Standing) -> Headers:
        """Return what the provider's front end adds: it tells nothing of limits."""
        return (
            ("server", "scaffolding on HTTPServer2"),
            ("x-frame-options", "SAMEORIGIN"),
        )

    def refuse(self, refusal: Refusal, call: Call, standing: Standing) -> Reply:
        """Return a google.rpc.Status; a stream that is no SSE wraps it in a list."""
        error = _error(refusal, call)
        headers = (
            ("content-type", "application/json; charset=UTF-8"),
            *self.headers(call, standing),
        )
        body: Any = [error] if call.is_streamed and not call.is_sse else error
        return Reply(error["error"]["code"], headers, dump(body, 2) + b"\n")

    def error_frame(self, refusal: Refusal, call: Call) -> bytes:
        """Return an error as an event."""
        return _chunk(call, _error(refusal, call))

    def answer(self, call: Call, text: str, usage: Usage) -> bytes:
        """Return a whole response."""
        return dump(_response(call, text, usage), 2) + b"\n"

    def opening(self, call: Call, usage: Usage) -> bytes:
        """Return nothing: the first text comes first."""
        return b"" if call.is_sse else b"["

    def piece(self, call: Call, text: str) -> bytes:
        """Return a response with a part of the text."""
        return _chunk(call, _response(call, text, None))

    def closing(self, call: Call, usage: Usage) -> bytes:
        """Return the response that says why the text ends."""
        if call.is_sse:
            return _chunk(call, _response(call, "", usage))
        return dump(_response(call, "", usage)) + b"]"

    def broken_frame(self, call: Call) -> bytes:
        """Return a response that breaks off."""
        return b'data: {"candidates": [{"content": {"par\r\n\r\n'


def split_path(path: str) -> tuple[str, str]:
    """Return model and method of a path like `/v1beta/models/m:generateContent`, else
    nothing.
    """
    for version in _VERSIONS:
        if path.startswith(version):
            model, _, method = path.removeprefix(version).partition(":")
            return model, method
    return "", ""


def _response(call: Call, text: str, usage: Usage | None) -> dict[str, Any]:
    content: dict[str, Any] = {"role": "model"}
    if text or usage is None:
        content = {"parts": [{"text": text}], "role": "model"}
    candidate: dict[str, Any] = {"content": content, "index": 0}
    response: dict[str, Any] = {
        "candidates": [candidate],
        "modelVersion": call.model,
        "responseId": call.request_id,
    }
    if usage is not None:
        candidate["finishReason"] = "MAX_TOKENS" if usage.is_cut else "STOP"
        response["usageMetadata"] = {
            "promptTokenCount": usage.input_tokens,
            "cachedContentTokenCount": usage.cached_tokens,
            "candidatesTokenCount": usage.output_tokens,
            "totalTokenCount": usage.input_tokens + usage.output_tokens,
        }
    return response


def _error(refusal: Refusal, call: Call) -> dict[str, Any]:
    status, name = _ERRORS[refusal.kind]
    is_leaked = refusal.kind is Kind.AUTH and not refusal.is_unknown_key
    if not call.secret and refusal.kind is Kind.AUTH:
        status, name = 403, "PERMISSION_DENIED"
    if is_leaked:
        status, name = 403, "PERMISSION_DENIED"
    if refusal.status:
        status, name = refusal.status, _STATUS_NAMES.get(refusal.status, name)
    message = refusal.message or _say(refusal, call)
    error: dict[str, Any] = {"code": status, "message": message, "status": name}
    if details := _details(refusal, call, message):
        error["details"] = details
    return {"error": error}


def _say(refusal: Refusal, call: Call) -> str:
    match refusal.kind:
        case Kind.AUTH if not call.secret:
            return "Method doesn't allow unregistered callers (callers without established identity)."
        case Kind.AUTH:
            return _INVALID if refusal.is_unknown_key else _LEAKED
        case Kind.CAPACITY:
            return f"No capacity available for model {call.model} on the server"
        case Kind.NOT_FOUND:
            return (
                f"models/{call.model} is not found for API version v1beta, or is not supported for generateContent. "
                "Call ListModels to see the list of available models and their supported methods."
            )
        case Kind.RATE_LIMIT | Kind.DAILY_QUOTA:
            metric, _ = _quota(refusal)
            limit = f"\n* Quota exceeded for metric: {metric}, limit: {refusal.limit or 0}, model: {call.model}"
            return f"{_QUOTA}{limit}\nPlease retry in {_duration(refusal.delay or 0)}."
    return _MESSAGES[refusal.kind]


def _details(refusal: Refusal, call: Call, message: str) -> list[dict[str, Any]]:
    if refusal.kind in (Kind.RATE_LIMIT, Kind.DAILY_QUOTA):
        metric, quota = _quota(refusal)
        link = {
            "description": "Learn more about Gemini API quotas",
            "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
        }
        violation = {
            "quotaMetric": metric,
            "quotaId": quota,
            "quotaDimensions": {"location": "global", "model": call.model},
        }
        if refusal.limit:
            violation["quotaValue"] = str(refusal.limit)
        details = [
            {"@type": _RPC + "Help", "links": [link]},
            {"@type": _RPC + "QuotaFailure", "violations": [violation]},
        ]
        if refusal.delay is not None:
            details.append(
                {"@type": _RPC + "RetryInfo", "retryDelay": _duration(refusal.delay)}
            )
        return details
    if refusal.kind is Kind.AUTH and refusal.is_unknown_key and call.secret:
        localized = {
            "@type": _RPC + "LocalizedMessage",
            "locale": "en-US",
            "message": message,
        }
        return [_info("API_KEY_INVALID", "googleapis.com", service=_SERVICE), localized]
    if refusal.kind is Kind.CAPACITY:
        info = _info(
            "MODEL_CAPACITY_EXHAUSTED", "cloudcode-pa.googleapis.com", model=call.model
        )
        retry = {
            "@type": _RPC + "RetryInfo",
            "retryDelay": _duration(refusal.delay or 0),
        }
        return [info] if refusal.delay is None else [info, retry]
    if refusal.kind is Kind.BILLING:
        return [
            _info(
                "BILLING_DISABLED",
                "googleapis.com",
                service=_SERVICE,
                consumer="projects/scenario",
            )
        ]
    return []


def _info(reason: str, domain: str, **metadata: str) -> dict[str, Any]:
    return {
        "@type": _RPC + "ErrorInfo",
        "reason": reason,
        "domain": domain,
        "metadata": metadata,
    }


def _quota(refusal: Refusal) -> tuple[str, str]:
    if refusal.limit_name == "tokens":
        metric = "generate_content_free_tier_input_token_count"
        return (
            f"{_SERVICE}/{metric}",
            "GenerateContentInputTokensPerModelPerMinute-FreeTier",
        )
    span = "Day" if refusal.kind is Kind.DAILY_QUOTA else "Minute"
    metric = f"{_SERVICE}/generate_content_free_tier_requests"
    return metric, f"GenerateRequestsPer{span}PerProjectPerModel-FreeTier"


def _duration(seconds: float) -> str:
    """Write a google.protobuf.Duration, never too short."""
    milliseconds = math.ceil(seconds * 1000)
    return (
        f"{milliseconds // 1000}s"
        if milliseconds % 1000 == 0
        else f"{milliseconds / 1000:.3f}s"
    )


def _chunk(call: Call, data: Any) -> bytes:
    return b"data: %s\r\n\r\n" % dump(data) if call.is_sse else dump(data) + b",\r\n"
