import numpy as np
import pytest

from evodiverse.llm.failures import FIRST_WAIT, LONGEST_WAIT, backoff, parse_retry_after


@pytest.mark.parametrize("failures", [1, 2, 3, 5, 8, 50, 5000])
def test_waits_double_up_to_a_bound_and_are_spread_over_their_upper_half(failures: int) -> None:
    longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1)) if failures < 100 else LONGEST_WAIT
    rng = np.random.default_rng(0)
    waits = [backoff(failures, None, rng) for _ in range(200)]
    assert longest / 2 <= min(waits) < 0.6 * longest
    assert 0.9 * longest < max(waits) <= longest


def test_a_wait_is_never_shorter_than_asked_for() -> None:
    rng = np.random.default_rng(0)
    assert backoff(1, 33.0, rng) == 33.0
    assert backoff(8, 1.0, rng) > 1.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("Sat, 21 Nov 2026 12:01:30 GMT", None),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("1" * 400, None),
    ],
)
def test_retry_after_is_seconds(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header) == seconds
