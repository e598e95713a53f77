"""Overrides as they must be written."""

import subprocess

from hydra.core.override_parser.overrides_parser import OverridesParser

from evodiverse.kit.hints import write_override


def test_a_plain_path_needs_no_quotes() -> None:
    assert write_override("task.oracle.path", "runs/my-forest_2.npz") == "task.oracle.path=runs/my-forest_2.npz"


def test_any_text_reaches_the_run_through_bash_and_hydra() -> None:
    texts = [
        *(
            "my forest's.npz",
            "a,b=c(d)[e]{f}.npz",
            "null",
            "1e5",
            "x$y`z`.npz",
            'q"z.npz',
            "\u00e4.npz",
            "a!b#c;d&e|f<g>h.npz",
        ),
        *("~/my forest.npz", " a  b ", "a\\", 'a\\"b', "a\\\\", "a\\b", '"', "'", "*?.npz", "a\nb"),
    ]
    command = " ".join(["printf '%s\\0'", *(write_override("task.oracle.path", text) for text in texts)])
    words = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
    assert [OverridesParser.create().parse_override(word).value() for word in words] == texts
