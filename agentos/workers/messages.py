"""Assignments as they cross the border to a worker."""

from __future__ import annotations

from dataclasses import asdict

from agentos.artefacts import Publication
from agentos.task import Task, Workflow
from agentos.workers import Assignment
from agentos.workers.channel import Message
from agentos.workshop import Workshop


def assignment_to_json(assignment: Assignment) -> Message:
    """Return the assignment as JSON data."""
    return asdict(assignment)


def assignment_from_json(data: Message) -> Assignment:
    """Read an assignment that the coordinator sent."""
    task = Task(**{**data["task"], "workflow": Workflow(data["task"]["workflow"])})
    publication = {**data["publication"], "folders": tuple(data["publication"]["folders"])}
    workshop = data["workshop"]
    if workshop is not None:
        workshop = Workshop(**{**workshop, "builds_on": tuple(workshop["builds_on"])})
    return Assignment(**{**data, "task": task, "publication": Publication(**publication), "workshop": workshop})
