"""A registry of named objects that can be looked up, listed and extended."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from hips.errors import ConfigError, UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """Maps names to objects; an unknown name raises an error with suggestions."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that registers an object as `name`."""

        def add(entry: T) -> T:
            if name in self._entries and self._entries[name] is not entry:
                raise ConfigError(f"A {self.kind} named '{name}' is already registered.")
            self._entries[name] = entry
            return entry

        return add

    def get(self, name: str) -> T:
        """The object called `name`; otherwise an error that lists the available names."""
        try:
            return self._entries[name]
        except KeyError:
            close = difflib.get_close_matches(name, self._entries, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else ""
            available = ", ".join(self._entries) or "none"
            raise UnknownNameError(
                f"Unknown {self.kind} '{name}'. Available: {available}.{hint}"
            ) from None

    def names(self) -> tuple[str, ...]:
        """All names, in order of registration."""
        return tuple(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)
