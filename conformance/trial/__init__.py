"""A backend on trial: cases, laws, behaviour, fuzzing, and the verdict."""
