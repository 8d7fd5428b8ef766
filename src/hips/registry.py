"""A registry of named objects that can be looked up, listed and extended."""

from __future__ import annotations

import difflib
import importlib
import threading
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from hips.errors import ConfigError, UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """Maps names to objects; an unknown name raises an error with suggestions.

    Args:
        kind: what the objects are called in errors.
        modules: names of modules that register the built-in objects; called at the first lookup.
        group: entry point group of installed packages that register more.
    """

    def __init__(
        self,
        kind: str,
        modules: Callable[[], Iterable[str]] | None = None,
        group: str | None = None,
    ) -> None:
        self.kind, self.group = kind, group
        self._entries: dict[str, T] = {}
        self._modules = modules
        self._loading = threading.RLock()

    def load(self) -> None:
        """Registers the built-in objects and those of installed packages, once.

        A thread that comes while another one loads waits, since half of the names are no use; the
        loading thread itself comes again through the modules it imports.
        """
        with self._loading:
            if self._modules is None:
                return
            modules, self._modules = self._modules, None
            for module in modules():
                importlib.import_module(module)
            for entry in entry_points(group=self.group) if self.group else ():
                entry.load()

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
        self.load()
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
        self.load()
        return tuple(self._entries)

    def __contains__(self, name: object) -> bool:
        self.load()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())
