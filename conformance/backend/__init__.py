"""One interface to whatever answers calls, carried by a command or by a Python worker process."""
