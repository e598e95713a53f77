"""Write a table with the predictions of an equation that a run has found, in an added column ``predicted``."""

import csv
import sys
from io import StringIO
from math import isnan
from pathlib import Path
from typing import Final

from evodiverse.commands.frame import finish, make_parser
from evodiverse.errors import InputError, reason

COLUMN: Final = "predicted"


def main() -> int:
    """Write the predictions and return the exit code: 0 done, 1 failed, 2 bad input, 130 SIGINT, 143 SIGTERM."""
    parser = make_parser("predict", __doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("data", type=Path, metavar="DATA", help="CSV file with a column for each variable")
    parser.add_argument("--size", type=int, help="complexity of an equation in best/hall_of_fame.csv (the chosen one)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write (standard output)")
    arguments = parser.parse_args()
    return finish(lambda: _write(arguments.run, arguments.data, arguments.size, arguments.out))


def _write(run: Path, data: Path, size: int | None, out: Path | None) -> None:
    from evodiverse.api import load  # here so that --help stays fast
    from evodiverse.kit.files import refuse_odd_file, write_file
    from evodiverse.kit.tables import TextFile, find_decimal_mark
    from evodiverse.tasks.equations.csv_data import read_columns
    from evodiverse.tasks.equations.result import read_result

    if out is not None:
        refuse_odd_file(out)
    result = read_result(load(run).path)
    table = TextFile(data).table()
    if COLUMN in table.names:
        raise InputError(f"{data} already has a column {COLUMN}; rename it")
    rows = [cells for _, cells in table.rows]
    predicted = result.predict(read_columns(data, table, rows, result), size)
    mark = find_decimal_mark([cell for cells in rows for cell in cells], table.delimiter)
    text = StringIO()
    writer = csv.writer(text, delimiter=table.delimiter, lineterminator="\n")
    writer.writerow([*table.names, COLUMN])
    for cells, value in zip(rows, predicted.tolist(), strict=True):
        writer.writerow([*cells, "" if isnan(value) else repr(value).replace(".", mark)])
    if out is None:
        sys.stdout.write(text.getvalue())
        sys.stdout.flush()
    else:
        try:
            write_file(out, text.getvalue().encode())
        except OSError as error:
            raise InputError(f"cannot write {out} ({reason(error)}); name a file in a writable folder") from None
