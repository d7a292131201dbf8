"""One interface to every backend: a command, a Python worker process, or an object in this process."""
