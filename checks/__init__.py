"""The bundled suite's own Python: the conversations of its laws, and its generators of inputs."""
