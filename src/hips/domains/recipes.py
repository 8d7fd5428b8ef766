"""How to make a domain again in another process."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hips import domains
from hips.domains.base import Domain
from hips.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Recipe:
    """A domain as plain data that a worker process can receive.

    Attributes:
        name: registered name.
        parameters: the domain's parameters.
        module: the module that registers it.
        plugins: plug-in files to load first.
    """

    name: str
    parameters: dict[str, Any]
    module: str
    plugins: tuple[Path, ...]

    @staticmethod
    def of(domain: Domain) -> Recipe:
        """The recipe of a domain.

        Raises:
            ConfigError: the domain is not registered, so no other process can find it.
        """
        name = getattr(domain, "name", None)
        if name is None or name not in domains.names():
            raise ConfigError(
                f"{type(domain).__name__} is not registered; decorate the class with "
                '`@hips.domains.register("a_name")`.'
            )
        module = type(domain).__module__
        return Recipe(name, domain.parameters(), module, domains.plugins())

    def create(self) -> Domain:
        """The domain, after loading whatever registers it."""
        for plugin in self.plugins:
            domains.load_plugin(plugin)
        if self.name not in domains.names():
            importlib.import_module(self.module)
        return domains.create(self.name, **self.parameters)
