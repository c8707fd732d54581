"""Where specs, checkers and quantities are found: labgrade's own folders, and those of the course around us."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from labgrade.core.did_you_mean import look_up
from labgrade.core.errors import UsageError
from labgrade.spec import registry
from labgrade.subjects.importing import without_garbage_collection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labgrade.core.results import Submission

KIT = "labgrade-kit.yaml"  # lies at the top of what `labgrade kit` made
KIT_START = "START.md"  # what a student reads first
_CODE = ("checkers", "reference", "models")
_OF_KIT = (".github", ".gitlab-ci.yml", "specs", "subjects", *_CODE, KIT, KIT_START)  # no part of what is handed in


@dataclass(frozen=True, kw_only=True)
class Course:
    """The folders of a course, each read when it is first needed. `roots` are those that hold code."""

    root: Path
    specs: Path
    roots: tuple[Path, ...]

    @functools.cached_property
    def checkers(self) -> registry.Registry:
        """The functions of the folders `checkers/`."""
        return self._read("checker", "checkers")

    @functools.cached_property
    def quantities(self) -> registry.Registry:
        """The functions of the folders `reference/`."""
        return self._read("quantity", "reference")

    @functools.cached_property
    def models(self) -> registry.Registry:
        """The functions of the folders `models/`."""
        return self._read(registry.MODEL, "models")

    def _read(self, kind: str, name: str) -> registry.Registry:
        with without_garbage_collection():
            return registry.read(kind, tuple(base / name for base in self.roots))

    def quantity(self, name: str) -> registry.Entry:
        """The quantity of a name, for which one file is read in place of all.

        Raises:
            UsageError: there is none.
        """
        found = registry.find_one(name, tuple(base / "reference" for base in self.roots))
        return found or look_up(name, self.quantities.entries, "quantity")

    @property
    def model_names(self) -> tuple[str, ...]:
        """Return every name that a subject's `model` may have: the zoo's and those of `models/`, also as ONNX files."""
        from labgrade.subjects import onnx_export

        own = [each for name in self.models.entries for each in (name, name + onnx_export.SUFFIX)]
        return tuple(sorted([*onnx_export.models(), *own]))

    def network(self, model: str) -> registry.Entry | None:
        """Return the function of `models/` that builds a model or its ONNX file; None for the zoo's."""
        from labgrade.subjects.onnx_export import SUFFIX

        return self.models.entries.get(model.removesuffix(SUFFIX))

    def code_of(self, model: str) -> dict[str, str]:
        """Return the source of a network of `models/`, by file; nothing for the zoo's."""
        found = self.network(model)
        return found.code() if found is not None else {}

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the folders whose content no student may see."""
        return tuple(self.root / name for name in ("specs", *_CODE, "submissions"))

    @property
    def key(self) -> bytes:
        """Return the secret from which the seeds of inputs follow: `course.key` beside `specs/`, if it is there.

        A person who grades others' work keeps one; without it the seeds follow from the names alone.
        """
        try:
            return (self.root / "course.key").read_bytes()
        except OSError:
            return b""

    def is_own(self, file: Path) -> bool:
        """Return whether a file is the course's, not labgrade's own."""
        return file.is_relative_to(self.root) and self.root.resolve() != home().resolve()


def kit_course(folder: Path) -> Course | None:
    """Return the course of a kit in a student's folder, judged by labgrade's own code; None if there is no kit.

    A student may have changed them, which changes what they are shown and nothing else: specs are data.
    """
    marker, specs = folder / KIT, folder / "specs"
    if marker.is_symlink() or not marker.is_file() or specs.is_symlink() or not specs.is_dir():
        return None
    return Course(root=folder, specs=specs, roots=(home(),))


def without_kit(who: Submission) -> Submission:
    """Remove the kit's own files from a submission: a subject is no answer, a spec no report."""
    if KIT not in who.files:
        return who
    return replace(who, files=tuple(each for each in who.files if not _belongs_to_kit(each)))


def _belongs_to_kit(path: str) -> bool:
    return path.partition("/")[0] in _OF_KIT or (path.startswith("labgrade-") and path.endswith(".whl"))


def find_for(path: Path, named: Path | None) -> Course:
    """The course for a student's folder or archive: the `named` one, the current folder's, its kit, or labgrade's.

    Code of a student's folder is never ours unless someone says so by naming it.

    Raises:
        UsageError: a course is named that is none, or the folder is a kit with code of its own.
    """
    if named is not None:
        if not (named / "specs").is_dir():
            message = f"--course {named}: there is no folder 'specs' in it"
            raise UsageError(message)
        return find(named)
    here = Path.cwd()
    within = here.resolve().is_relative_to(path.resolve())
    kit = kit_course(path) if within or not (here / "specs").is_dir() else None
    if kit is None:
        return find(None if within else here)
    own = [name for name in _CODE if (path / name).is_dir()]
    if own:
        message = f"this kit brings code of its own ({', '.join(own)}); if you trust it, add: --course {path}"
        raise UsageError(message)
    return kit


def find(root: Path | None = None) -> Course:
    """The course at `root`, by default labgrade's own.

    A course has a `specs/` folder; its `checkers/`, `reference/` and `models/`, where there are any, are added to
    labgrade's own.
    """
    own = home()
    root = _root(root, own)
    roots = (own,) if root.resolve() == own.resolve() else (own, root)
    return Course(root=root, specs=root / "specs", roots=roots)


def folders(root: Path) -> tuple[Path, Path]:
    """Return the specs and the folder of the course at `root`, or else of labgrade's own course."""
    found = _root(root, home())
    return found / "specs", found


def _root(root: Path | None, own: Path) -> Path:
    return root if root is not None and (root / "specs").is_dir() else own


def other_labs(specs: Path, graded: Iterable[str]) -> str:
    """Say which labs of a folder of specs were graded, and how to choose another; nothing where there is no other."""
    labs = {path.parent.name for path in specs.glob("*/*.yaml") if path.name != "lab.yaml"}
    others, done = sorted(labs.difference(graded)), ", ".join(sorted(graded))
    return f"graded: {done}; for another lab, say --lab NAME: {', '.join(others)}" if others and done else ""


def home() -> Path:
    """Return the folder of labgrade's own specs/, checkers/, ...: within the package once installed."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "builtin"
    return installed if installed.is_dir() else package.parent
