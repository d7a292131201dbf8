"""The reference: each module reads like the contract it answers for, correct before fast."""

from impl.backend import Backend
from impl.reference.operators import EXPLANATIONS, MACHINES, OPERATORS

backend = Backend("reference", OPERATORS, machines=MACHINES, explanations=EXPLANATIONS)
