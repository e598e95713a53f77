"""The kinds of language-model clients, one file each."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from evodiverse.llm.clients import litellm, local, replay
from evodiverse.llm.clients.kind import Kind

KINDS: Final[Mapping[str, Kind]] = MappingProxyType({"litellm": litellm, "local": local, "replay": replay})
"""The kinds of clients, by the value of ``llm.client``."""
