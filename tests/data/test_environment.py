from evodiverse.data.artefacts import ARTEFACTS
from evodiverse.data.environment import fetch_command


def test_the_command_to_fetch_names_the_artefacts(cache):
    assert fetch_command(list(ARTEFACTS.values())) == "evodiverse-data fetch oak elm"


def test_the_command_to_fetch_works_where_the_network_is_forbidden(cache, monkeypatch):
    monkeypatch.setenv("EVODIVERSE_OFFLINE", "1")
    assert fetch_command([ARTEFACTS["elm"]]) == "EVODIVERSE_OFFLINE=0 evodiverse-data fetch elm"
