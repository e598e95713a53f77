"""Safe display of text from elsewhere."""


def printable(text: str) -> str:
    """Return text in which characters that could control a terminal or hide other text are replaced by ``�``."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
