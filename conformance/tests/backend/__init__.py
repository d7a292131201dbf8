"""A backend: found, started, asked, isolated, and what of its answers is believed."""
