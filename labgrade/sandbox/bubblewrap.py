"""The command that puts bubblewrap around a server: a private root without network, which all its jobs share.

Used where this machine gives namespaces to bubblewrap alone (a set-user-id program, or one that AppArmor knows).
"""

from __future__ import annotations

import shutil
from pathlib import Path

from labgrade.sandbox import places, root

_SCRATCH_BYTES = 512 << 20


def command(
    jobs: str, zoo: str, trusted: tuple[str, ...], secret: tuple[str, ...], offered: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """What to start the server with; nothing where there is no bubblewrap."""
    program = shutil.which("bwrap")
    if program is None:
        return ()
    shown = places.find(secret, trusted, offered)
    package = Path(__file__).resolve().parent.parent
    words = [program, "--unshare-all", "--die-with-parent", "--as-pid-1", "--hostname", "labgrade"]
    for place in shown.shown:
        link = Path(place)
        words += ["--symlink", str(link.readlink()), place] if link.is_symlink() else ["--ro-bind", place, place]
    for place in shown.covered:
        words += ["--tmpfs", place]
    # The server's own code, which is no secret; a job's landlock leaves it out all the same.
    for place in (str(package / "__init__.py"), str(package / "sandbox"), zoo, jobs, *trusted):
        words += ["--ro-bind", place, place]
    for place in shown.covered:
        words += ["--remount-ro", place]
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += ["--perms", "1777", "--size", str(_SCRATCH_BYTES), "--tmpfs", root.SCRATCH]
    for path, text in root.LINKS.items():
        if path.startswith("/tmp") and not any(place.startswith("/tmp/") for place in (*shown.shown, zoo, jobs)):  # noqa: S108
            words += ["--symlink", text, path]
    return (*words, "--remount-ro", "/", "--chdir", root.SCRATCH, "--")
