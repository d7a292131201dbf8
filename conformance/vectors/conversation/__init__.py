"""A case as a conversation: its calls and file steps in order, the state of its handles, the verdict on an outcome."""
