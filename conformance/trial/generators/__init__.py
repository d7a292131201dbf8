"""Whole inputs made at random, where a structure cannot be reached by changing one place of a frozen case at a time."""
