"""How the vectors are judged."""
