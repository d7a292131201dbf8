"""Values on the wires and in files."""
