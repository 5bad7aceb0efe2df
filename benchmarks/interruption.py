"""How long does the command take to end after Ctrl+C during a call of a minute?"""

from __future__ import annotations

import signal
import statistics
import subprocess
import threading
import time

from benchmarks.figures import Figure, Result, print_result
from benchmarks.scene import BIN, PATIENCE, Scene, scene, wait_for_text

TIMES = 10
PARALLEL = 3
TARGET = 5.0
PEER_CALL = 8.0
METHOD = (
    f"SIGINT is sent to the coordinator alone while {PARALLEL} workers are in a call of 60 s. Seconds until the "
    f"process has ended, {TIMES} times, each with a new command; the largest counts. Compared with a Python process "
    f"pool with calls of only {PEER_CALL:g} s, which waits for the running call to end."
)
POOL = f"""\
import time
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor({PARALLEL}) as pool:
    calls = [pool.submit(time.sleep, {PEER_CALL}) for _ in range({PARALLEL})]
    time.sleep(0.5)
    print("running", flush=True)
    for call in calls:
        call.result()
"""


def main() -> int:
    """Print the seconds until the end as JSON."""
    return print_result(measure)


def measure() -> Result:
    """Interrupt the command again and again, and a process pool once."""
    with scene(PARALLEL) as place:
        seconds = [interrupt(place) for _ in range(TIMES)]
        peer = interrupt_pool(place)
    figure = Figure(
        "Ctrl+C during a call of 60 s until the end, slowest",
        max(seconds),
        "s",
        TARGET,
        peer,
        f"ProcessPoolExecutor with calls of {PEER_CALL:g} s",
    )
    facts = {
        "seconds": [round(s, 3) for s in sorted(seconds)],
        "median": round(statistics.median(seconds), 3),
    }
    return Result(__doc__ or "", METHOD, [figure], facts)


def interrupt(place: Scene) -> float:
    """Return the seconds from SIGINT to the end of a command whose workers wait for a
    model.
    """
    place.reset()
    model = "offline:latency=60"
    process = place.start(
        "lld-workflow", "--all", "--parallel", str(PARALLEL), "--drafter", model
    )
    wait_for_text(place, process, "N1_design", PARALLEL)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    # Not `wait` with a timeout: that looks at growing intervals and would show those
    # instead.
    safety = threading.Timer(PATIENCE, process.kill)
    safety.start()
    code = process.wait()
    seconds = time.monotonic() - start
    safety.cancel()
    assert code == -signal.SIGINT, f"ended with {code}"
    return seconds


def interrupt_pool(place: Scene) -> float:
    """Return the same for a process pool."""
    process = subprocess.Popen(
        [str(BIN / "python"), "-c", POOL],
        env=dict(place.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    return time.monotonic() - start


if __name__ == "__main__":
    raise SystemExit(main())
