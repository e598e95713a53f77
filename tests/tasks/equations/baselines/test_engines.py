"""An engine in a process of its own."""

import numpy as np
import pytest

from evodiverse.errors import ServiceError
from evodiverse.tasks.equations.baselines import Order, find_apart


def test_an_engine_that_fails_is_reported() -> None:
    with pytest.raises(ServiceError, match="nobody failed"):
        find_apart("nobody", Order(np.ones((3, 1)), np.ones(3), ("x",), 0, None, 10))
