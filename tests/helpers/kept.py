"""What tests have computed is remembered from run to run, in a folder of its own.

A grader looks at each file that is remembered, before and after, as code may write over them. Tests leave thousands:
courses of their own, and each state of this one.
"""

import contextlib
import os

from labgrade.files.cache import cache_folder

_MOST = 4000  # expected values: twice what one run of all tests needs


def apart(*, first):
    """Have this process and those that it starts remember there. `first`: none of these runs yet."""
    if "LABGRADE_CACHE" in os.environ:
        return
    folder = cache_folder().with_name("labgrade-tests")
    os.environ["LABGRADE_CACHE"] = str(folder)
    if first:
        forget_oldest(folder / "expected", _MOST)


def forget_oldest(folder, most):
    """Delete all files but as many as that, which were written last. Another run may do so meanwhile."""
    written = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file():
                written[path] = path.stat().st_mtime_ns
    for path in sorted(written, key=written.get)[:-most]:
        with contextlib.suppress(OSError):
            path.unlink()
