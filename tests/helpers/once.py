"""What several tests need is made once a run, by whichever worker comes first; the others wait for it."""

import fcntl
import os


def made_once(factory, name, make):
    """The path that `make(path)` wrote; `factory` is pytest's `tmp_path_factory`. Nobody may change what lies there."""
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    path, done = shared / f"once-{name}", shared / f"once-{name}.done"
    with (shared / f"once-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(path)
            done.touch()
    return path
