"""Types without their volatile fields: what a frozen, observed or hashed value consists of."""

from __future__ import annotations

from dataclasses import replace

from conformance.contract.types import ListOf, MapOf, Struct, Type


def lasting(type_: Type) -> Type:
    """The type without its volatile fields, at every depth."""
    match type_:
        case ListOf(item):
            return ListOf(lasting(item))
        case MapOf(item):
            return MapOf(lasting(item))
        case Struct(fields):
            kept = tuple(replace(one, type=lasting(one.type)) for one in fields if not one.volatile)
            return Struct(kept, type_.name)
    return type_


def has_volatile(type_: Type) -> bool:
    """Whether a volatile field stands anywhere in the type."""
    return lasting(type_) != type_
