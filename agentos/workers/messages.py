"""Assignments as they cross the border to a worker."""

from __future__ import annotations

from dataclasses import asdict

from agentos.artefacts import Publication
from agentos.task import Task, Workflow
from agentos.workers import Assignment
from agentos.workers.channel import Message


def assignment_to_json(assignment: Assignment) -> Message:
    """Return the assignment as JSON data."""
    return asdict(assignment)


def assignment_from_json(data: Message) -> Assignment:
    """Read an assignment that the coordinator sent."""
    task = Task(**{**data["task"], "workflow": Workflow(data["task"]["workflow"])})
    return Assignment(**{**data, "task": task, "publication": Publication(**data["publication"])})
