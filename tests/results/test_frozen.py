"""The tables of a frozen folder of runs, and the metrics and curves of each of these runs, stay as they are."""

from pathlib import Path

import pytest

from tests.frozen import DIGESTS, compute_results, digest


@pytest.mark.slow
def test_tables_metrics_and_curves_of_frozen_runs_are_unchanged(tmp_path: Path) -> None:
    found = digest(compute_results(tmp_path)).splitlines()
    expected = DIGESTS.read_text().splitlines()
    assert [line for line in found if line not in expected] == []
    assert [line for line in expected if line not in found] == []
