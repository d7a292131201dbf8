"""A small shop as a SQLite file: `python examples/batch/shop.py FILE`.

Customers place orders of items, which are products, and write reviews.
"""

import random
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

TABLES = """
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL, vip BOOLEAN NOT NULL, joined DATE NOT NULL
);
CREATE TABLE products (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, kind TEXT NOT NULL, price REAL NOT NULL,
    replaces INT REFERENCES products
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer INT NOT NULL REFERENCES customers, placed TIMESTAMP NOT NULL, total REAL
);
CREATE TABLE items (
    "order" INT NOT NULL REFERENCES orders, line INT NOT NULL, product INT NOT NULL REFERENCES products,
    quantity INT NOT NULL, discount REAL, PRIMARY KEY ("order", line)
) WITHOUT ROWID;
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY, customer INT REFERENCES customers, product INT NOT NULL REFERENCES products,
    written TIMESTAMP NOT NULL, stars INT, text TEXT
);
"""

# What cannot be seen from the file: which texts are prose and which are categories.
DECLARATION = {
    "customers": {"name": "text", "country": "categorical"},
    "products": {"title": "text", "kind": "categorical"},
    "reviews": {"text": "text"},
}

COUNTRIES = ("Austria", "Brazil", "Chile", "Denmark", "Egypt", "France", "Ghana", "Hungary")
KINDS = ("book", "bowl", "chair", "clock", "lamp", "tool")
FIRST = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gia", "Hal", "Ida", "Jon")
LAST = ("Adler", "Brook", "Costa", "Dietz", "Engel", "Frost", "Gold", "Hart")
WORDS = ("small", "blue", "solid", "late", "lovely", "plain", "broken", "bright", "heavy", "cheap", "good", "odd")
OPENING_DAY = datetime(2023, 1, 2, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Size:
    """Hold the number of rows of each table."""

    customers: int = 40
    products: int = 25
    orders: int = 120
    items: int = 300
    reviews: int = 60

    def rows(self) -> int:
        """Return the number of rows of all tables."""
        return self.customers + self.products + self.orders + self.items + self.reviews


def write_shop(file: Path, size: Size | None = None, seed: int = 0) -> None:
    """Write the shop; the same size and seed give the same rows."""
    chance = random.Random(seed)  # noqa: S311 (rows of an example)
    rows = size or Size()
    file.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(TABLES)
        for table, made in (
            ("customers", customers(rows, chance)),
            ("products", products(rows, chance)),
            ("orders", orders(rows, chance)),
            ("items", items(rows, chance)),
            ("reviews", reviews(rows, chance)),
        ):
            first = next(made)
            insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(first))})"  # noqa: S608
            connection.execute(insert, first)
            connection.executemany(insert, made)
        connection.commit()


def customers(size: Size, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    """Return the rows of customers."""
    for i in range(size.customers):
        joined = OPENING_DAY + timedelta(days=chance.randrange(500))
        name = f"{chance.choice(FIRST)} {chance.choice(LAST)}"
        yield i + 1, name, chance.choice(COUNTRIES), chance.random() < 0.2, joined.date().isoformat()


def products(size: Size, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    """Return the rows of products; some replace an earlier one."""
    for i in range(size.products):
        kind = chance.choice(KINDS)
        replaces = chance.randrange(i) + 1 if i and chance.random() < 0.3 else None
        title = f"{chance.choice(WORDS)} {chance.choice(WORDS)} {kind} no. {i}"
        yield i + 1, title, kind, round(chance.uniform(2, 200), 2), replaces


def orders(size: Size, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    """Return the rows of orders, in the order of their times; the total of some is not known."""
    for i in range(size.orders):
        placed = OPENING_DAY + timedelta(minutes=i * 600_000 / size.orders + chance.random())
        total = round(chance.lognormvariate(3.5, 0.8), 2) if chance.random() < 0.95 else None
        yield i + 1, chance.randrange(size.customers) + 1, placed.isoformat(" ", "seconds")[:19], total


def items(size: Size, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    """Return the rows of items: the lines of each order, as even as can be."""
    for i in range(size.items):
        discount = round(chance.random() / 2, 2) if chance.random() < 0.3 else None
        order, line = i % size.orders, i // size.orders
        yield order + 1, line + 1, chance.randrange(size.products) + 1, chance.randrange(1, 6), discount


def reviews(size: Size, chance: random.Random) -> Iterator[tuple[Any, ...]]:
    """Return the rows of reviews; some have no author, some no words."""
    for i in range(size.reviews):
        written = OPENING_DAY + timedelta(minutes=chance.randrange(600_000))
        customer = chance.randrange(size.customers) + 1 if chance.random() < 0.9 else None
        words = " ".join(chance.choice(WORDS) for _ in range(chance.randrange(3, 7)))
        text = words if chance.random() < 0.8 else None
        yield (
            i + 1,
            customer,
            chance.randrange(size.products) + 1,
            written.isoformat(" ", "seconds")[:19],
            chance.randrange(1, 6),
            text,
        )


if __name__ == "__main__":
    write_shop(Path(sys.argv[1]))
