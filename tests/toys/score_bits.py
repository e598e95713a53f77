"""Scores the toy task's strings as the task itself does: reads JSON lines, writes JSON lines.

python score_bits.py FOLDER [SECONDS] [FAULT]: each start leaves a file in FOLDER, so that starts can be counted.
"""

import json
import os
import sys
import time
from pathlib import Path

folder, seconds, fault = Path(sys.argv[1]), float((sys.argv[2:] or ["0"])[0]), (sys.argv[3:] or [""])[0]
(folder / f"start-{os.getpid()}").touch()
for line in sys.stdin:
    candidate = json.loads(line)
    key = candidate["key"]
    time.sleep(seconds)
    mark = folder / f"seen-{key}"
    is_first = not mark.exists()
    mark.touch()
    if fault == "dies" and is_first and key.count("1") == 7:
        sys.exit("out of licenses")
    if fault == "always dies":
        sys.exit("no receptor")
    if fault == "hangs" and is_first and key.count("1") == 7:
        time.sleep(1000)
    if fault == "hopeless" and key.count("1") == 7:
        time.sleep(1000)
    if fault == "noise":
        print("docking …", '{"half": ', "[1, 2]", '{"key": "unknown", "score": 1}', sep="\n")
    n_ones = key.count("1")
    if fault == "exceeds" and n_ones == 7:
        try:
            (folder / "exceeded").touch(exist_ok=False)
        except FileExistsError:
            pass  # it exceeds once
        else:
            print(json.dumps({"key": key, "score": 1.7}))
            continue
    if n_ones == 1 and key[-1] == "1":
        print(json.dumps({"key": key, "score": float("nan")}))
        continue
    worth = sum(index + 1 for index, bit in enumerate(key) if bit == "1")
    print(json.dumps({"key": key, "score": worth / (len(key) * (len(key) + 1) / 2)}))
