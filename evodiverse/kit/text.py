"""Text of others, made fit to be shown."""


def printable(text: str) -> str:
    """Return text without what could control a terminal or hide what is written: such characters become ``�``."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
