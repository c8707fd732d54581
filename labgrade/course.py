"""Where specs, checkers and quantities are found: labgrade's own folders, and those of the course around us."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labgrade import registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The folders that take part, read."""

    root: Path
    specs: Path
    checkers: registry.Registry
    quantities: registry.Registry

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders whose content no student may see."""
        return tuple(self.root / name for name in ("specs", "checkers", "reference", "submissions"))


def find(root: Path | None = None) -> Course:
    """Read the course at `root`, by default labgrade's own.

    A course has a `specs/` folder; its `checkers/` and `reference/`, where there are any, are added to labgrade's own.
    """
    home = _home()
    root = _root(root, home)
    roots = (home,) if root.resolve() == home.resolve() else (home, root)
    return Course(
        root=root,
        specs=root / "specs",
        checkers=registry.read("checker", tuple(base / "checkers" for base in roots)),
        quantities=registry.read("quantity", tuple(base / "reference" for base in roots)),
    )


def folders(root: Path) -> tuple[Path, Path]:
    """The folder of specs of the course at `root`, or else of labgrade's own; and the course's own folder."""
    found = _root(root, _home())
    return found / "specs", found


def _root(root: Path | None, home: Path) -> Path:
    return root if root is not None and (root / "specs").is_dir() else home


def _home() -> Path:
    """The folder that holds labgrade's own specs/, checkers/ and reference/: in the package once it is installed."""
    package = Path(__file__).resolve().parent
    installed = package / "builtin"
    return installed if installed.is_dir() else package.parent
