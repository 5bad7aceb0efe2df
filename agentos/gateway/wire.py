"""Convert requests and completions to and from JSON between worker and gateway."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from agentos.gateway.providers import Completion, Message, Request, Speaker
from agentos.usage import Usage

_Json = dict[str, Any]


def request_to_json(request: Request) -> _Json:
    """Return the request as JSON data."""
    return asdict(request)


def request_from_json(data: _Json) -> Request:
    """Read a request from a worker."""
    messages = [
        Message(
            Speaker(message["speaker"]),
            message["text"],
            tuple(message["breakpoints"]),
        )
        for message in data["messages"]
    ]
    return Request(**{**data, "messages": tuple(messages)})


def completion_to_json(completion: Completion) -> _Json:
    """Return the completion as JSON data."""
    return {
        "text": completion.text,
        "model": completion.model,
        "usage": asdict(completion.usage),
        "cost": completion.cost,
    }


def completion_from_json(data: _Json) -> Completion:
    """Read a completion from the gateway."""
    return Completion(
        data["text"], data["model"], Usage(**data["usage"]), cost=data["cost"]
    )
