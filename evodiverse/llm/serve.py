"""The process that serves a local model, started as ``python -m evodiverse.llm.serve`` (see `LocalServer`).

The key comes by standard input, so that no list of processes shows it; the end of standard input ends the server.
"""

import os
import sys


def main() -> None:
    """Serve the GGUF file named by the arguments, which are its path, slots and tokens of context."""
    import xllamacpp

    path, slots, context = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_parallel = int(slots)
    params.n_ctx = int(context)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [sys.stdin.readline().strip()]
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # a reply under way is nobody's any more


if __name__ == "__main__":
    main()
