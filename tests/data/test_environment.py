from evodiverse.data.artifacts import ARTIFACTS
from evodiverse.data.environment import fetch_command


def test_the_command_to_fetch_names_the_artifacts(cache):
    assert fetch_command(list(ARTIFACTS.values())) == "evodiverse-data fetch oak elm"


def test_the_command_to_fetch_works_where_the_network_is_forbidden(cache, monkeypatch):
    monkeypatch.setenv("EVODIVERSE_OFFLINE", "1")
    assert fetch_command([ARTIFACTS["elm"]]) == "EVODIVERSE_OFFLINE=0 evodiverse-data fetch elm"
