"""Print how large the project is: python scripts/lines.py.

For each part of the package, and for the tests and the other scripts: the number of modules and of lines of code, which
are lines that are not blank, not a comment and not a docstring. Then the number of words in the documentation.
"""

import ast
import tokenize
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("evodiverse", "tests", "scripts", "benchmarks")
TEXTS: Final = ("*.md", "docs/**/*.md", "benchmarks/*.md")
_LAYOUT: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def count_lines(source: bytes) -> int:
    """Return the number of lines of code of a module; a string that is a statement is a docstring."""
    lines: set[int] = set()
    for token in tokenize.tokenize(BytesIO(source).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def name_part(module: Path) -> str:
    """Return the part that a module belongs to: its folder in the package, or else its top folder."""
    top, *inner = module.relative_to(ROOT).parts[:-1]
    return "/".join([top, *inner[: 2 if inner[:1] == ["tasks"] else 1]]) if top == "evodiverse" else top


def main() -> None:
    """Print the numbers."""
    lines, modules = Counter[str](), Counter[str]()
    for folder in FOLDERS:
        for module in sorted((ROOT / folder).rglob("*.py")):
            part = name_part(module)
            lines[part] += count_lines(module.read_bytes())
            modules[part] += 1
    for part in sorted(lines):
        print(f"{lines[part]:7,} lines {modules[part]:5,} modules  {part}")
    inside = [part for part in lines if part.split("/")[0] == "evodiverse"]
    total, n_modules = (sum(counts[part] for part in inside) for counts in (lines, modules))
    print(f"{total:7,} lines {n_modules:5,} modules  evodiverse, all parts")
    words = sum(len(path.read_text().split()) for pattern in TEXTS for path in ROOT.glob(pattern))
    print(f"{words:7,} words of documentation")


if __name__ == "__main__":
    main()
