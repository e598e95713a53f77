"""The process that serves a local model, started as ``python -m evodiverse.llm.serve`` (see `LocalServer`).

The API key is read from standard input, so that it does not appear in process listings. The server prints its address
when it has loaded the model, and stops when standard input is closed.
"""

import os
import sys


def main() -> None:
    """Serve a GGUF file.

    The command-line arguments are the path of the file, the number of simultaneous queries, and the size of the
    context in tokens, which these queries share.
    """
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
    os._exit(0)  # at once: nobody waits for the replies in progress


if __name__ == "__main__":
    main()
