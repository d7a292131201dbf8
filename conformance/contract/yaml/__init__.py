"""YAML text of contracts: values with positions, the schemas of the files, and their short forms."""
