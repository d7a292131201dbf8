"""YAML text becomes a `Contract`: typed, positioned, with guards and postconditions compiled."""
