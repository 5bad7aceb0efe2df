"""The official SDKs, asked in one way: what a test sees of an answer or of its
failure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anthropic
import httpx2
import openai
from google import genai
from google.genai import errors, types

PATIENCE = 60.0
# Certificates are not loaded: nothing here is encrypted, and loading them takes longer
# than all the rest.
MODELS = {
    "anthropic": "claude-sonnet-5",
    "gemini": "gemini-3.5-flash",
    "openai": "gpt-6-luna",
}
FORMATS = tuple(MODELS)


@dataclass(frozen=True)
class Outcome:
    """What came of a call: an answer, or an error with status, headers and body."""

    text: str = ""
    finish: str | None = None
    usage: tuple[int, int] = (0, 0)
    status: int | None = None
    headers: Mapping[str, str] | None = None
    body: Any = None
    error: Exception | None = None


def ask(
    format: str,
    url: str,
    prompt: str = "hello",
    *,
    key: str = "sk-1",
    stream: bool = True,
    **more: Any,
) -> Outcome:
    """Ask with the format's own SDK, its retries off."""
    return _ASKING[format](
        url,
        prompt,
        key,
        stream,
        more.get("model") or MODELS[format],
        more.get("timeout", PATIENCE),
    )


def _ask_anthropic(
    url: str, prompt: str, key: str, stream: bool, model: str, timeout: float
) -> Outcome:
    client = anthropic.Anthropic(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=timeout,
        http_client=httpx2.Client(verify=False),
    )
    arguments: dict[str, Any] = {
        "model": model,
        "max_tokens": 32_000,
        "messages": [{"role": "user", "content": prompt}],
    }
    try:
        if not stream:
            raw = client.messages.with_raw_response.create(**arguments)
            message = raw.parse()
            if isinstance(message, str):
                return Outcome(body=message, status=200)
            text = "".join(
                block.text for block in message.content if block.type == "text"
            )
            counts = (message.usage.input_tokens, message.usage.output_tokens)
            return Outcome(text, message.stop_reason, counts, 200, raw.headers)
        text, finish, read, written = "", None, 0, 0
        events = client.messages.create(**arguments, stream=True)
        for event in events:
            if event.type == "message_start":
                read = event.message.usage.input_tokens
            elif (
                event.type == "content_block_delta" and event.delta.type == "text_delta"
            ):
                text += event.delta.text
            elif event.type == "message_delta":
                finish, written = event.delta.stop_reason, event.usage.output_tokens
        return Outcome(text, finish, (read, written), 200, events.response.headers)
    except anthropic.APIStatusError as error:
        return Outcome(
            status=error.status_code,
            headers=error.response.headers,
            body=error.body,
            error=error,
        )
    except (anthropic.APIError, httpx2.HTTPError, ValueError) as error:
        return Outcome(error=error)
    finally:
        client.close()


def _ask_openai(
    url: str, prompt: str, key: str, stream: bool, model: str, timeout: float
) -> Outcome:
    client = openai.OpenAI(
        api_key=key,
        base_url=f"{url}/v1",
        max_retries=0,
        timeout=timeout,
        http_client=httpx2.Client(verify=False),
    )
    arguments: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
    }
    try:
        if not stream:
            raw = client.chat.completions.with_raw_response.create(**arguments)
            completion = raw.parse()
            if isinstance(completion, str):
                return Outcome(body=completion, status=200)
            choice = completion.choices[0]
            counts = (
                completion.usage.prompt_tokens,
                completion.usage.completion_tokens,
            )
            return Outcome(
                choice.message.content or "",
                choice.finish_reason,
                counts,
                200,
                raw.headers,
            )
        text, finish, counts = "", None, (0, 0)
        chunks = client.chat.completions.create(
            **arguments, stream=True, stream_options={"include_usage": True}
        )
        for chunk in chunks:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
            if chunk.usage:
                counts = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
        return Outcome(text, finish, counts, 200, chunks.response.headers)
    except openai.APIStatusError as error:
        return Outcome(
            status=error.status_code,
            headers=error.response.headers,
            body=error.body,
            error=error,
        )
    except (openai.APIError, httpx2.HTTPError, ValueError) as error:
        return Outcome(body=getattr(error, "body", None), error=error)
    finally:
        client.close()


def _ask_gemini(
    url: str, prompt: str, key: str, stream: bool, model: str, timeout: float
) -> Outcome:
    options = types.HttpOptions(
        base_url=url,
        timeout=int(timeout * 1000),
        retry_options=types.HttpRetryOptions(attempts=1),
        client_args={"verify": False},
        async_client_args={"verify": False},
    )
    client = genai.Client(api_key=key, vertexai=False, http_options=options)
    try:
        text, finish, counts = "", None, (0, 0)
        if stream:
            responses = list(
                client.models.generate_content_stream(model=model, contents=prompt)
            )
        else:
            responses = [client.models.generate_content(model=model, contents=prompt)]
        for response in responses:
            for candidate in response.candidates or ():
                parts = candidate.content.parts if candidate.content else None
                text += "".join(part.text or "" for part in parts or ())
                finish = (
                    candidate.finish_reason.value if candidate.finish_reason else finish
                )
            if usage := response.usage_metadata:
                counts = (
                    usage.prompt_token_count or 0,
                    usage.candidates_token_count or 0,
                )
        return Outcome(text, finish, counts, 200)
    except errors.APIError as error:
        headers = error.response.headers if error.response is not None else None
        return Outcome(
            status=error.code, headers=headers, body=error.details, error=error
        )
    except Exception as error:
        return Outcome(error=error)
    finally:
        client.close()


_ASKING = {"anthropic": _ask_anthropic, "gemini": _ask_gemini, "openai": _ask_openai}


def raw_request(
    format: str, prompt: str, key: str = "sk-1", *, stream: bool = True
) -> bytes:
    """Return the bytes of a request, for callers that are many or that are no SDK."""
    model = MODELS[format]
    messages = [{"role": "user", "content": prompt}]
    body: dict[str, Any]
    if format == "gemini":
        path = f"/v1beta/models/{model}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"
        secret, body = (
            f"x-goog-api-key: {key}",
            {"contents": [{"role": "user", "parts": [{"text": prompt}]}]},
        )
    elif format == "openai":
        path, secret = "/v1/chat/completions", f"authorization: Bearer {key}"
        body = {"model": model, "messages": messages, "stream": stream}
    else:
        path, secret = (
            "/v1/messages",
            f"x-api-key: {key}\r\nanthropic-version: 2023-06-01",
        )
        body = {
            "model": model,
            "max_tokens": 32_000,
            "messages": messages,
            "stream": stream,
        }
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\n{secret}\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data
