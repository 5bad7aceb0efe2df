"""Requests and completions as they cross the border between a worker and the gateway."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from agentos.providers import Completion, Request, Usage


def request_to_json(request: Request) -> dict[str, Any]:
    """Return the request as JSON data."""
    return asdict(request)


def request_from_json(data: dict[str, Any]) -> Request:
    """Read a request that a worker sent."""
    return Request(**data)


def completion_to_json(completion: Completion) -> dict[str, Any]:
    """Return the completion as JSON data."""
    return {
        "text": completion.text,
        "model": completion.model,
        "usage": asdict(completion.usage),
        "cost": completion.cost,
    }


def completion_from_json(data: dict[str, Any]) -> Completion:
    """Read a completion that the gateway sent."""
    return Completion(data["text"], data["model"], Usage(**data["usage"]), cost=data["cost"])
