"""The collector rests while a text is read, and goes on afterwards, whatever came of it."""

from __future__ import annotations

import gc

import pytest

from agentos.documents.undisturbed import undisturbed
from agentos.documents.verdict import VerdictError, read_verdict


def test_the_collector_rests_and_goes_on() -> None:
    assert undisturbed(gc.isenabled)() is False
    assert gc.isenabled()
    with pytest.raises(VerdictError):
        read_verdict("nothing")
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        undisturbed(int)()
        assert not gc.isenabled()
    finally:
        gc.enable()
