"""A short version of the kills while a filing is written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import kill_while_filing


@pytest.mark.skipif(
    not kill_while_filing.can_trace(),
    reason="needs strace, and to be allowed to use it",
)
def test_a_kill_between_any_two_steps_of_writing_a_filing_down_files_once(
    tmp_path: Path,
) -> None:
    figures = kill_while_filing.measure(seed=1, count=4, folder=tmp_path)
    assert not figures.misses, figures.to_json()
