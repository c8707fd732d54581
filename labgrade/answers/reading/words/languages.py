"""The words of languages, as data: one file each in this folder. A new language is a new file here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_WORDS = Path(__file__).parent


def _read() -> dict[str, dict[str, Any]]:
    """Return the files of words by name, in order."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(_WORDS.glob("*.yaml"))}
    return {name: yaml.load(text, Loader=loader) for name, text in texts.items()}  # noqa: S506 - safe loaders, both


LANGUAGES = _read()  # with the module: the jail in which texts are read has no such files
# Words of scales that stand behind digits: `1.5 billion`, `14.98 \u5104`.
SCALES: dict[str, int] = {word: scale for each in LANGUAGES.values() for word, scale in each.get("scales", {}).items()}
