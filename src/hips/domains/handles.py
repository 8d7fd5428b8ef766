"""A domain as plain data, to send to another process."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hips import domains, plugins
from hips.domains.base import Domain
from hips.errors import ConfigError


@dataclass(frozen=True, slots=True)
class DomainHandle:
    """Recipe to recreate a domain.

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
    def of(domain: Domain) -> DomainHandle:
        """The handle of a domain.

        Raises:
            ConfigError: the domain is not registered, so no other process can find it.
        """
        name = getattr(domain, "name", None)
        if name is None or name not in domains.names():
            raise ConfigError(
                f"{type(domain).__name__} is not registered; decorate the class with "
                '`@hips.domains.register("a_name")`.'
            )
        return DomainHandle(name, domain.parameters(), type(domain).__module__, plugins.loaded())

    def open(self) -> Domain:
        """Recreates the domain, loading its module and plug-ins first."""
        for plugin in self.plugins:
            plugins.load(plugin)
        if self.name not in domains.names():
            importlib.import_module(self.module)
        return domains.create(self.name, **self.parameters)
