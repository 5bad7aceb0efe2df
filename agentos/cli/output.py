"""Notice when what a command prints cannot be written."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from agentos.untrusted import print_clean


@contextmanager
def whole_output(prog: str) -> Iterator[None]:
    """End a command with status 1 and one line when what it printed cannot be written, as on a full disk."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        # Whoever writes a file names it.
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        tell_lost_output(prog, os.strerror(error.errno))
        raise SystemExit(1) from None


def tell_lost_output(prog: str, why: str) -> None:
    """Say that not all of the output was written."""
    print_clean(f"{prog}: the output cannot be written ({why}); make room there and run again\n", sys.stderr)
