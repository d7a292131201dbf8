"""Why a backend fails: the known mistake that explains it, and the first call where two backends differ."""
