"""Docking programs that take no time, in a module that a new process loads quickly."""

from rdkit import Chem

from evodiverse.docking.docked import Docked, Job


class Toy:
    """Scores a molecule by its number of atoms, and fails to dock the molecule ``refused``."""

    def __init__(self, refused: str = "", version: str = "1") -> None:
        self.refused = refused
        self.version = version

    def check_installed(self) -> None:
        """Do nothing, since nothing is needed."""

    def find_versions(self) -> dict[str, str]:
        return {"toy": self.version}

    def dock(self, job: Job, /) -> Docked:
        if job.key == self.refused:
            raise ValueError("refused")
        molecule = Chem.MolFromSmiles(job.key)
        return Docked(-float(molecule.GetNumAtoms()), Chem.MolToMolBlock(molecule))


class Idle(Toy):
    """A program that must not be called."""

    def dock(self, job: Job, /) -> Docked:
        raise AssertionError(f"{job.key} is docked again")


class OnlyEthanol(Idle):
    """A program that may be called only for ethanol."""

    def dock(self, job: Job, /) -> Docked:
        return Toy().dock(job) if job.key == "CCO" else super().dock(job)
