"""Pictures that students hand in: as large as they are, and how much they show. What they mean a person says."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from PIL.Image import Image

_MOST_PIXELS = 100_000_000
_LOOKED_AT = 400  # pixels a side: as many as tell a graph from an empty page
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")


def picture_pixels(artifact: Path) -> int:
    """How many pixels a picture has: a chain of layers makes a narrow one.

    Raises:
        ValueError: this is no picture, or one of more than 100 million pixels.
    """
    picture = _opened(artifact)
    return picture.width * picture.height


def picture_ink(artifact: Path) -> float:
    """The share of a picture that has another colour than most of it: 0 of an empty page.

    Raises:
        ValueError: this is no picture, or one of more than 100 million pixels.
    """
    picture = _opened(artifact).convert("L")
    picture.thumbnail((_LOOKED_AT, _LOOKED_AT))
    counts = picture.histogram()
    return 1 - max(counts) / sum(counts)


def _opened(artifact: Path) -> Image:
    import PIL.Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of size, which is looked at here
            picture = PIL.Image.open(io.BytesIO(artifact.read_bytes()), formats=_FORMATS)
    except Exception as error:  # noqa: BLE001 - what a broken picture raises has no common base
        message = f"this is no picture that can be read ({type(error).__name__}); hand in PNG or JPEG"
        raise ValueError(message) from None
    if picture.width * picture.height > _MOST_PIXELS:
        message = f"it has {picture.width:,} x {picture.height:,} pixels; at most {_MOST_PIXELS:,} are read"
        raise ValueError(message)
    try:
        picture.load()
    except Exception as error:  # noqa: BLE001 - as above
        message = f"the picture is cut off or broken ({type(error).__name__})"
        raise ValueError(message) from None
    return picture
