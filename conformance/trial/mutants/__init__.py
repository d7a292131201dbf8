"""How the vectors are judged: which check notices which mutant, what trivial backends score, which leaf is checked."""
