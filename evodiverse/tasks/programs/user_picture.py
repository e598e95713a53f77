"""The picture of the best program that a user's evaluator draws: a PNG or an SVG, told apart by its content."""

from collections.abc import Mapping
from typing import Final
from xml.etree import ElementTree as ET

MAX_BYTES: Final = 5_000_000
PNG_NAME, SVG_NAME = "picture.png", "picture.svg"
_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_SVG_ROOT: Final = "{http://www.w3.org/2000/svg}svg"

NO_PICTURE: Final[Mapping[str, bytes | None]] = {PNG_NAME: None, SVG_NAME: None}
"""The files of ``best/`` where there is no picture: neither."""


def lay_out_picture(drawn: object) -> Mapping[str, bytes | None]:
    """Return a picture under the name of its kind, and None under that of the other.

    Args:
        drawn: What a user's ``draw`` returned, which may be anything.

    Raises:
        ValueError: It is neither a PNG nor an SVG, or too large; says which.
    """
    if not isinstance(drawn, bytes | str):
        expected = "the bytes of a PNG or the text of an SVG"
        raise ValueError(f"returned a {type(drawn).__name__}, expected {expected}")  # noqa: TRY004 (callers catch one kind)
    try:
        content = drawn.encode() if isinstance(drawn, str) else drawn
    except UnicodeEncodeError as error:
        raise ValueError(f"returned a text that cannot be written ({error})") from None
    if len(content) > MAX_BYTES:
        raise ValueError(f"returned {len(content):,} bytes, expected at most {MAX_BYTES:,}")
    if content.startswith(_PNG_SIGNATURE):
        return {**NO_PICTURE, PNG_NAME: content}
    _check_svg(content)
    return {**NO_PICTURE, SVG_NAME: content}


def _check_svg(content: bytes) -> None:
    try:
        root = ET.fromstring(content).tag  # noqa: S314 (expat bounds what entities expand to)
    except (ET.ParseError, ValueError, LookupError) as error:  # an encoding may be unknown
        raise ValueError(f"returned neither a PNG nor an SVG ({error})") from None
    if root != _SVG_ROOT:
        raise ValueError('returned no SVG: its first element must be <svg xmlns="http://www.w3.org/2000/svg">')
