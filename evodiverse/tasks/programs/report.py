"""The files that show a run's best programs and their results."""

from collections.abc import Mapping

from evodiverse.ports import Discovery
from evodiverse.tasks.programs.evaluator import Evaluator, Illustrated, Verifiable
from evodiverse.tasks.programs.verified import FILE, lay_out


def lay_out_best(best: Discovery, evaluator: Evaluator) -> Mapping[str, bytes | None]:
    """Return the content of the files that show the best program, by file name.

    ``best_program.py`` holds the source. If the program scores above 0, there are also files with its result, a picture
    of the result and, in ``verified.json``, the verified value, as far as the evaluator provides them. None stands for
    a file to delete.
    """
    files: dict[str, bytes | None] = {"best_program.py": best.candidate.genotype.encode()}
    if isinstance(evaluator, Illustrated) and best.candidate.score:
        files |= {**evaluator.report(best), **evaluator.illustrate(best)}
    if isinstance(evaluator, Verifiable) and best.candidate.score:
        verified = evaluator.verify(best)
        files[FILE] = None if verified is None else lay_out(verified)
    return files


def lay_out_record(discovery: Discovery, evaluator: Evaluator) -> Mapping[str, bytes]:
    """Return the files, by path, that document a program that was better than all before it.

    They hold the program and, if its score is above 0, its result. They are in the folder ``history``, and their names
    begin with the number of the program's oracle call.
    """
    files = {"program.py": discovery.candidate.genotype.encode()}
    if isinstance(evaluator, Illustrated) and discovery.candidate.score:
        files |= evaluator.report(discovery)
    return {f"history/{discovery.candidate.call:06d}-{name}": content for name, content in files.items()}
