"""The kinds of language-model clients, one file each."""

from collections.abc import Mapping
from typing import Final

from evodiverse.llm.clients.command import Command
from evodiverse.llm.clients.kind import Kind
from evodiverse.llm.clients.litellm import LiteLlm
from evodiverse.llm.clients.local import Local
from evodiverse.llm.clients.replay import Replay

KINDS: Final[Mapping[str, Kind]] = {"litellm": LiteLlm(), "local": Local(), "command": Command(), "replay": Replay()}
"""The kinds of clients, by the value of ``llm.client``."""
