"""The JavaScript backend beside the reference."""
