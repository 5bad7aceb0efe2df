"""A text stream that marks its lines."""

from __future__ import annotations

import contextlib
import io
import threading

import pytest

from agentos.workflows.parallel.output_prefixer import OutputPrefixer


class Recorder(io.StringIO):
    """A stream that remembers each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def write(self, text: str) -> int:
        self.calls.append(text)
        return super().write(text)


def test_each_line_is_one_call_however_it_was_written() -> None:
    stream = Recorder()
    prefixer = OutputPrefixer("[A]", stream)
    for part in ("on", "e\ntwo\n", "", "\nthr", "ee\n"):
        assert prefixer.write(part) == len(part)
    assert stream.calls == ["[A] one\n", "[A] two\n", "\n", "[A] three\n"]


def test_only_the_newline_ends_a_line() -> None:
    stream = Recorder()
    OutputPrefixer("[A]", stream).write("a\u2028b\x0bc\rd\n")
    assert stream.calls == ["[A] a\u2028b\x0bc\rd\n"]


def test_closing_ends_the_line_and_leaves_the_stream_open() -> None:
    stream = Recorder()
    prefixer = OutputPrefixer("[A]", stream)
    prefixer.write("half")
    prefixer.close()
    prefixer.close()
    assert stream.calls == ["[A] half\n"]
    assert not stream.closed
    with pytest.raises(ValueError, match="closed"):
        prefixer.write("more")


def test_it_serves_as_a_file() -> None:
    stream = Recorder()
    with contextlib.redirect_stdout(OutputPrefixer("[A]", stream)):
        print("a", "b", sep="\n")
    prefixer = OutputPrefixer("[A]", stream)
    assert prefixer.writable()
    assert not prefixer.isatty()
    assert prefixer.encoding == "utf-8"
    assert stream.getvalue() == "[A] a\n[A] b\n"


def test_without_a_stream_the_stdout_of_the_moment_is_used(
    capsys: pytest.CaptureFixture[str],
) -> None:
    prefixer = OutputPrefixer("[A]")
    replaced = Recorder()
    with contextlib.redirect_stdout(replaced):
        prefixer.write("there\n")
    prefixer.write("here\n")
    assert replaced.getvalue() == "[A] there\n"
    assert capsys.readouterr().out == "[A] here\n"


def test_threads_that_share_a_stream_never_mix_within_a_line() -> None:
    stream = Recorder()

    def work(name: str) -> None:
        prefixer = OutputPrefixer(f"[{name}]", stream)
        for number in range(200):
            prefixer.write(f"{name}")
            prefixer.write(f"-{number}\n")

    threads = [threading.Thread(target=work, args=(name,)) for name in "ABCD"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = sorted(
        f"[{name}] {name}-{number}" for name in "ABCD" for number in range(200)
    )
    assert sorted(stream.getvalue().splitlines()) == expected
