"""What the tests of rehearsals share: one home, so that the environment of the tests is
built once.
"""

from __future__ import annotations

import pytest

from agentos.state.home import Home


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home of many repositories."""
    return Home(tmp_path_factory.mktemp("shared") / "home")
