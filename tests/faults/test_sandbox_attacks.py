"""Short versions of the attacks on the sandbox."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentos.errors import UsageError
from agentos.proving.sandbox import find_sandbox
from tests.faults import breakout, escape


def test_no_way_leads_out_of_bubblewrap(tmp_path: Path) -> None:
    try:
        find_sandbox({"AGENTOS_SANDBOX": "bubblewrap", "PATH": os.environ["PATH"]})
    except UsageError as error:
        pytest.skip(str(error))
    figures = escape.measure(seed=1, count=1, folder=tmp_path)
    assert not figures.misses, figures.to_json()
    assert figures.values["bubblewrap_denied"] == len(breakout.PROBES) - 1


def test_the_probes_do_find_the_ways_out_where_there_is_no_wall(tmp_path: Path) -> None:
    figures = escape.measure(seed=1, count=1, folder=tmp_path)
    assert len(figures.values["plain_escapes"]) > len(breakout.PROBES) // 3, (
        figures.to_json()
    )
    assert "stay_alive" not in figures.values["plain_escapes"]
    assert "read_own_environment" not in figures.values["plain_escapes"]
