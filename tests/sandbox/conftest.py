from collections.abc import Iterator

import pytest

from evodiverse.sandbox.processes import ProcessSandbox


@pytest.fixture(scope="package")
def sandbox() -> Iterator[ProcessSandbox]:
    sandbox = ProcessSandbox()
    yield sandbox
    sandbox.close()
