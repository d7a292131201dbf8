"""From a database file to the columns of a batch: SQLite by the standard library, DuckDB if it is installed."""
