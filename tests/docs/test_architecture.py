"""The rooms that ARCHITECTURE names are the rooms that there are: each module stands in one of them."""

import fnmatch
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_module_stands_in_one_room():
    rows = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Rooms")[2].partition("\n## ")[0]
    named = re.findall(r"`([^`]+)`", "".join(re.findall(r"\|([^|]+)\|$", rows.partition("|---")[2], re.MULTILINE)))
    there = [path.stem if path.suffix else f"{path.name}/" for path in (ROOT / "labgrade").iterdir()]
    there = [name for name in there if name.strip("/") not in ("__init__", "__pycache__", "builtin", "py")]
    rooms = Counter(name for name in there for pattern in named if fnmatch.fnmatchcase(name, pattern))
    assert rooms == Counter(there)
    assert not [pattern for pattern in named if not fnmatch.filter(there, pattern)]
