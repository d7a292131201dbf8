"""What is asked before any drawn call: each listing finds one kind of mistake."""
