"""The versions that a run records."""

from pathlib import Path

import pytest

from evodiverse.store import provenance


@pytest.mark.parametrize(
    ("file", "is_noticed"),
    [("search/survivors.py", True), ("tasks/molecules/new.py", True), ("results/pages/page.py", False)],
)
def test_the_digest_of_the_code_changes_with_what_can_change_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, is_noticed: bool
) -> None:
    def digest() -> str:
        monkeypatch.setattr(provenance, "__file__", str(tmp_path / "evodiverse" / "store" / "provenance.py"))
        provenance._code_digest.cache_clear()
        return provenance.own_versions()["code"]

    changed = tmp_path / "evodiverse" / file
    changed.parent.mkdir(parents=True)
    (changed.parent / "other.py").write_text("A = 1\n")
    before = digest()
    changed.write_text("A = 1\n")
    assert (digest() != before) == is_noticed
    provenance._code_digest.cache_clear()
