"""Run the command: `python -m shelf`."""

import sys

from shelf.cli import main

sys.exit(main())
