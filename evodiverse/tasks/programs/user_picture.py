"""The picture that a user's evaluator draws of the best program: a PNG or an SVG, detected from its content."""

from collections.abc import Mapping
from typing import Final
from xml.etree import ElementTree as ET

MAX_BYTES: Final = 5_000_000
PNG_NAME, SVG_NAME = "picture.png", "picture.svg"
_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_SVG_ROOT: Final = "{http://www.w3.org/2000/svg}svg"

NO_PICTURE: Final[Mapping[str, bytes | None]] = {PNG_NAME: None, SVG_NAME: None}
"""The answer if there is no picture: None for both file names, so that an older picture in ``best/`` is removed."""


def lay_out_picture(drawn: object) -> Mapping[str, bytes | None]:
    """Return a picture under the file name of its format, and None under the file name of the other format.

    None tells the caller to delete an older picture of that format.

    Args:
        drawn: The return value of a user's ``draw``, which may be of any type.

    Raises:
        ValueError: The value is neither a PNG nor an SVG, or it is too large.
    """
    if not isinstance(drawn, bytes | str):
        expected = "the bytes of a PNG or the text of an SVG"
        raise ValueError(f"returned a value of type {type(drawn).__name__}, expected {expected}")  # noqa: TRY004 (callers catch only ValueError)
    try:
        content = drawn.encode() if isinstance(drawn, str) else drawn
    except UnicodeEncodeError as error:
        raise ValueError(f"returned text that cannot be encoded as UTF-8 ({error})") from None
    if len(content) > MAX_BYTES:
        raise ValueError(f"returned {len(content):,} bytes, expected at most {MAX_BYTES:,}")
    if content.startswith(_PNG_SIGNATURE):
        return {**NO_PICTURE, PNG_NAME: content}
    _check_svg(content)
    return {**NO_PICTURE, SVG_NAME: content}


def _check_svg(content: bytes) -> None:
    try:
        root = ET.fromstring(content).tag  # noqa: S314 (expat limits the expansion of entities)
    except (ET.ParseError, ValueError, LookupError) as error:  # LookupError: an unknown encoding
        raise ValueError(f"returned neither a PNG nor an SVG ({error})") from None
    if root != _SVG_ROOT:
        raise ValueError('returned XML that is not an SVG; its root must be <svg xmlns="http://www.w3.org/2000/svg">')
