"""Drugs whose rings keep Graph GA's rules: charges, stereocenters, sulfur, fused and spiro rings."""

from typing import Final

from rdkit import Chem

_NAMED = {
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "paracetamol": "CC(=O)Nc1ccc(O)cc1",
    "ibuprofen": "CC(C)Cc1ccc([C@@H](C)C(=O)O)cc1",
    "naproxen": "COc1ccc2cc([C@H](C)C(=O)O)ccc2c1",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "nicotine": "CN1CCC[C@H]1c1cccnc1",
    "lidocaine": "CCN(CC)CC(=O)Nc1c(C)cccc1C",
    "sildenafil": "CCCc1nn(C)c2c1nc([nH]c2=O)-c1cc(ccc1OCC)S(=O)(=O)N1CCN(C)CC1",
    "celecoxib": "Cc1ccc(cc1)-c1cc(nn1-c1ccc(cc1)S(N)(=O)=O)C(F)(F)F",
    "esomeprazole": "COc1ccc2[nH]c(nc2c1)[S@@](=O)Cc1ncc(C)c(OC)c1C",
    "fluoxetine": "CNCCC(Oc1ccc(cc1)C(F)(F)F)c1ccccc1",
    "indomethacin": "COc1ccc2n(c(C)c(CC(=O)O)c2c1)C(=O)c1ccc(Cl)cc1",
    "metronidazole": "Cc1ncc([N+](=O)[O-])n1CCO",
    "ciprofloxacin": "OC(=O)c1cn(C2CC2)c2cc(N3CCNCC3)c(F)cc2c1=O",
    "penicillin G": "CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O",
    "tryptophan": "[NH3+][C@@H](Cc1c[nH]c2ccccc12)C(=O)[O-]",
    "serotonin": "NCCc1c[nH]c2ccc(O)cc12",
    "resveratrol": "Oc1ccc(/C=C/c2cc(O)cc(O)c2)cc1",
    "tamoxifen": "CC/C(=C(\\c1ccccc1)c1ccc(OCCN(C)C)cc1)c1ccccc1",
    "imatinib": "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1",
    "gefitinib": "COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1",
    "warfarin": "CC(=O)CC(c1ccccc1)c1c(O)c2ccccc2oc1=O",
    "terbinafine": "CN(C/C=C/C#CC(C)(C)C)Cc1cccc2ccccc12",
    "testosterone": "C[C@]12CC[C@H]3[C@@H](CCC4=CC(=O)CC[C@]34C)[C@@H]1CC[C@@H]2O",
    "menthol": "CC(C)[C@@H]1CC[C@@H](C)C[C@H]1O",
    "captopril": "C[C@H](CS)C(=O)N1CCC[C@H]1C(=O)O",
    "modafinil": "NC(=O)CS(=O)C(c1ccccc1)c1ccccc1",
    "minoxidil": "Nc1cc(N2CCCCC2)nc(N)[n+]1[O-]",
    "pregabalin": "CC(C)C[C@H](C[NH3+])CC(=O)[O-]",
    "griseofulvin": "COC1=CC(=O)C[C@@H](C)[C@]11Oc2c(Cl)c(OC)cc(OC)c2C1=O",
}

DRUGS: Final = tuple(Chem.CanonSmiles(smiles) for smiles in _NAMED.values())

ALTERNATING: Final = (
    (
        "O=C(C[C@]1(c2ccc(-c3ccc(F)cc3)cc2)C2CC3CC1CC(C2)[C@@H]3O)N1CC(O)C1",
        "O=C(C[C@]1(c2ccc(-c3ccc(F)cc3)cc2)C2CC3CC1CC(C2)[C@H]3O)N1CC(O)C1",
    ),
    (
        "O=C(c1ccccc1C(=O)N1C(=O)c2ccccc2C1=O)N1C(=O)c2ccccc2C1=O",
        "O=C1c2ccccc2C(=O)N1C(=O)c1ccccc1C(=O)N1C(=O)c2ccccc2C1=O",
    ),
)
"""Molecules with two SMILES, each of which RDKit canonicalizes to the other."""
