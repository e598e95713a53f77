"""Parts of messages: numbers with nouns, and text from elsewhere that is made safe to print."""


def printable(text: str) -> str:
    """Return text in which characters that could control a terminal or hide other text are replaced by ``�``."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def count_of(n: int, what: str, plural: str = "") -> str:
    """Return a number with a noun, in the singular or plural; ``plural`` is needed if it is not formed with an s."""
    return f"{n:,} {what if n == 1 else plural or f'{what}s'}"


def one_line(text: str, most: int = 200) -> str:
    """Return the start of a text, at most ``most`` characters, as one line."""
    return " ".join(text.split())[:most]
