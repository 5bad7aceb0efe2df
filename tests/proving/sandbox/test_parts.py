"""The parts of a sandbox: what is kept of an output, how one is chosen."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.errors import BadInput, UsageError
from agentos.proving.sandbox import FinishedCommand, Reason, find_sandbox, read_result
from agentos.proving.sandbox.environment import build_environ
from agentos.proving.sandbox.output import HeadAndTail
from agentos.proving.sandbox.seccomp import write_filter
from agentos.proving.sandbox.supervisor.usage import measure_folders


@given(st.lists(st.binary(max_size=50)), st.integers(2, 120))
def test_an_output_is_kept_whole_or_without_its_middle(
    pieces: list[bytes], limit: int
) -> None:
    kept = HeadAndTail(limit)
    for piece in pieces:
        kept.take(piece)
    whole, half = b"".join(pieces), limit // 2
    assert kept.total == len(whole)
    if len(whole) <= 2 * half:
        assert kept.text() == whole.decode("utf-8", "replace")
    else:
        head, tail = (
            part.decode("utf-8", "replace") for part in (whole[:half], whole[-half:])
        )
        assert (
            kept.text()
            == f"{head}\n[... {len(whole) - 2 * half:,} bytes left out ...]\n{tail}"
        )


@pytest.mark.parametrize(
    ("name", "value"), [("A\0", "b"), ("A", "\0"), ("A=B", "c"), ("", "x")]
)
def test_a_variable_that_cannot_be_one_is_refused(name: str, value: str) -> None:
    with pytest.raises(BadInput):
        build_environ({name: value}, "/home", "/tmp")


@pytest.mark.parametrize("name", ["docker", "Bubblewrap", "none"])
def test_a_sandbox_that_does_not_exist_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(
        UsageError, match=f"AGENTOS_SANDBOX={name}: .* bubblewrap, plain"
    ) as refusal:
        find_sandbox({"AGENTOS_SANDBOX": name})
    assert "\n" not in str(refusal.value)


def test_a_sandbox_that_is_demanded_and_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="install the package `bubblewrap`"):
        find_sandbox({"AGENTOS_SANDBOX": "bubblewrap", "PATH": str(tmp_path)})


def test_a_bubblewrap_that_does_not_work_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text(
        "#!/bin/sh\necho no permission >&2\nexit 1\n", "utf-8"
    )
    (tmp_path / "bwrap").chmod(0o755)
    assert find_sandbox({"PATH": str(tmp_path)}).name == "plain"
    with pytest.raises(UsageError, match="no permission"):
        find_sandbox({"AGENTOS_SANDBOX": "bubblewrap", "PATH": str(tmp_path)})


def test_a_result_is_read_only_if_it_is_an_ordinary_small_file(tmp_path: Path) -> None:
    (tmp_path / "good").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "good")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert read_result(tmp_path / "good", 5) == b"12345"
    assert read_result(tmp_path / "good", 4) is None
    assert [
        read_result(tmp_path / name, 5)
        for name in ("link", "folder", "pipe", "missing")
    ] == [None] * 4


def test_a_sparse_file_counts_as_what_it_uses_and_a_link_as_nothing_behind_it(
    tmp_path: Path,
) -> None:
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(10**12)
    (tmp_path / "link").symlink_to("/")
    used = measure_folders([str(tmp_path)])
    assert used.files == 2
    assert used.size < 1_000_000


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_jump_of_the_filter_stays_in_it(machine: str) -> None:
    program = list(struct.iter_unpack("=HBBI", write_filter(machine)))
    assert program[-1][0] == 0x06
    for place, (code, if_true, if_false, _) in enumerate(program):
        if code & 0x07 == 0x05:
            assert place + 1 + max(if_true, if_false) < len(program)


def test_a_processor_that_is_not_known_has_no_filter() -> None:
    assert write_filter("abacus") == b""


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_explained_in_one_line(reason: Reason) -> None:
    words = FinishedCommand(reason, 137, "", 1.0).explain()
    assert words
    assert "\n" not in words
