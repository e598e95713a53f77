"""Programs that dock in no time, in a module that a new process loads soon."""

from rdkit import Chem

from evodiverse.docking.docked import Docked, Job


class Toy:
    """Scores a molecule by its number of atoms, and cannot dock what is named ``refused``."""

    def __init__(self, refused: str = "", version: str = "1") -> None:
        self.refused = refused
        self.version = version

    def check_installed(self) -> None:
        """It needs nothing."""

    def find_versions(self) -> dict[str, str]:
        return {"toy": self.version}

    def dock(self, job: Job, /) -> Docked:
        if job.key == self.refused:
            raise ValueError("refused")
        molecule = Chem.MolFromSmiles(job.key)
        return Docked(-float(molecule.GetNumAtoms()), Chem.MolToMolBlock(molecule))


class Idle(Toy):
    """May not be asked."""

    def dock(self, job: Job, /) -> Docked:
        raise AssertionError(f"{job.key} is docked again")


class OnlyEthanol(Idle):
    """May be asked for ethanol alone."""

    def dock(self, job: Job, /) -> Docked:
        return Toy().dock(job) if job.key == "CCO" else super().dock(job)
