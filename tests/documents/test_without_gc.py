"""The collector rests while a text is read, and goes on afterwards, whatever came of
it.
"""

from __future__ import annotations

import gc

import pytest

from agentos.documents.without_gc import without_gc


def test_the_collector_rests_and_goes_on() -> None:
    assert without_gc(gc.isenabled)() is False
    assert gc.isenabled()
    with pytest.raises(ValueError, match="nothing"):
        without_gc(int)("nothing")
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    try:
        without_gc(int)()
        assert not gc.isenabled()
    finally:
        gc.enable()
