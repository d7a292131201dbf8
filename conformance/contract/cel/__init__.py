"""Expressions of contracts: the Common Expression Language, its engine, the named functions, and explained errors."""
