"""Why a backend fails, and where two backends differ."""
