"""Groups of a contract become questions: inputs in wire form, without an expectation."""
