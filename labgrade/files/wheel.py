"""labgrade itself as a wheel, so that a kit needs no package index that has it.

An installed labgrade is packed again from its own files; a checkout is built by hatchling, as its project says.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade import __version__
from labgrade.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = f"labgrade-{__version__}-py3-none-any.whl"
_ROOT = Path(__file__).resolve().parents[2]
_OF_THIS_MACHINE = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
_BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


def write(folder: Path) -> Path:
    """Write the wheel into a folder; its path.

    Raises:
        UsageError: this labgrade can't be packed; the message says what can be done.
    """
    target = folder / NAME
    files = _installed()
    if files:
        target.write_bytes(b"")
        _pack(files, target)
        return target
    command = [sys.executable, "-c", _BUILD, str(folder.resolve())]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - our own build
    if done.returncode or not target.is_file():
        last = (done.stderr.strip().splitlines() or ["no wheel was built"])[-1]
        message = (
            f"labgrade can't be packed into the kit: {last}; in a checkout: pip install hatchling; or name where "
            "students get it from: install: pip install ... in lab.yaml"
        )
        raise UsageError(message)
    return target


def _installed() -> dict[str, bytes]:
    """Return the files of an installed labgrade by their paths in a wheel; none of a checkout."""
    try:
        found = importlib.metadata.distribution("labgrade")
    except importlib.metadata.PackageNotFoundError:
        return {}
    paths = {str(path): Path(str(found.locate_file(path))) for path in found.files or ()}
    kept = {name: path for name, path in paths.items() if name.startswith("labgrade") and path.is_file()}
    if "labgrade/__init__.py" not in kept:
        return {}
    left_out = (f"labgrade-{found.version}.dist-info/{name}" for name in _OF_THIS_MACHINE)
    for name in left_out:
        kept.pop(name, None)
    return {name: path.read_bytes() for name, path in sorted(kept.items()) if not name.endswith(".pyc")}


def _pack(files: Mapping[str, bytes], target: Path) -> None:
    info = next(name for name in files if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    record = "\n".join([*rows, f"{info}/RECORD,,", ""])
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
