"""A log has the charged calls of all parts, and knows those of the final pools."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from evodiverse.runlog.log import Log, read_log
from evodiverse.runlog.runs import Run
from tests.results.builders import evaluated_row, initial_row, make_log, make_record, write_parts


def written(path: Path, *parts: Sequence[Mapping[str, object]]) -> Log:
    write_parts(path, "evaluations", parts)
    write_parts(path, "populations", [[{"iteration": 0, "pool": 0, "members": [1]}]])
    for dataset in ("swaps", "migrations", "adaptation", "llm_calls"):
        write_parts(path, dataset, [[]])
    return read_log(Run(path, make_record()))


def candidates(log: Log) -> dict[int, tuple[str, float]]:
    return {call: (log.keys[call], score) for call, score in log.scores.items()}


def test_candidates_are_the_charged_calls_of_all_iterations(tmp_path: Path) -> None:
    later = [evaluated_row(1, 2, "C", 0.5), evaluated_row(2, 3, "O", 0.0)]
    log = written(tmp_path, [initial_row(1, "k1", 0.01)], later)
    assert candidates(log) == {1: ("k1", 0.01), 2: ("C", 0.5), 3: ("O", 0.0)}


def test_attempts_that_were_not_charged_and_failed_calls_are_no_candidates(tmp_path: Path) -> None:
    reused = {"iteration": 1, "outcome": "reused", "reused_call": 1, "key": "k1", "score": 0.01}
    rejected = {"iteration": 1, "outcome": "rejected", "genotype": "((", "error": "unparsable"}
    log = written(tmp_path, [initial_row(1, "k1", 0.01)], [reused, rejected, evaluated_row(1, 2, "C", None)])
    assert candidates(log) == {1: ("k1", 0.01)}


def test_the_final_union_has_each_call_once_and_every_pool_its_places_there() -> None:
    log = make_log(states=[[[1, 2], [3]], [[9, 4], [4, 7]]])
    assert log.final_union == [4, 7, 9]
    assert [log.final_places(pool) for pool in log.states[-1]] == [[2, 0], [0, 1]]
