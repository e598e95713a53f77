from types import MappingProxyType

from evodiverse.ports import Headline, Subject, Tools
from evodiverse.runlog.log import Log, Measurement


class BitMetrics:
    """The most ones that any string of a run had."""

    kind = "bits"
    columns = MappingProxyType({"n_ones": float})
    targets = (0.5,)
    libraries = ()
    reads_texts = False
    subject = Subject()
    headlines = (Headline("most_ones", "most ones", 0),)

    def measure(self, log: Log, tools: Tools) -> Measurement:
        return {"most_ones": max(log.column("n_ones").values())}
