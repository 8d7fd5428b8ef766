"""Starts the server: the address, the token, and the browser."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import threading
import webbrowser
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from hips.errors import ConfigError
from hips.web.app import create_app
from hips.web.guard import LOOPBACK, Access
from hips.web.limits import Limits
from hips.web.results import ResultsFolder

GRACE_SECONDS = 1
TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens; beyond this machine it needs a token.

    Attributes:
        host: name or address of the interface.
        port: port; 0 for any free one.
    """

    host: str = "127.0.0.1"
    port: int = 8008

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        if self.host in LOOPBACK:
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def listen(self) -> socket.socket:
        """A listening socket.

        Raises:
            ConfigError: the address is in use or not of this machine.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self.host, self.port))
        except OSError as error:
            listener.close()
            raise ConfigError(
                f"Cannot listen on {self.host}:{self.port} ({error.strerror}). "
                "Choose another --port, or 0 for any free one."
            ) from None
        listener.listen(1024)
        return listener


@dataclass(frozen=True, slots=True)
class Site:
    """A server that is ready to run.

    Attributes:
        url: the address to open, with the token if there is one.
    """

    url: str
    _server: uvicorn.Server
    _listener: socket.socket

    def run(self, open_browser: bool = False) -> None:
        """Serves until Ctrl-C."""
        if open_browser:
            threading.Timer(0.5, webbrowser.open, [self.url]).start()
        self._server.run(sockets=[self._listener])

    def stop(self) -> None:
        """Asks the server to end."""
        self._server.should_exit = True


def prepare(address: Address, limits: Limits | None = None, results: Path | None = None) -> Site:
    """The server of an address, listening but not yet answering."""
    limits = limits or Limits()
    folder = None if results is None else ResultsFolder(results)
    token = None if address.is_local else secrets.token_urlsafe(TOKEN_BYTES)
    hosts = (*LOOPBACK, address.host) if address.is_local else None
    app = create_app(limits, Access(hosts, token, limits.body_bytes), folder)
    listener = address.listen()
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        ws="none",
    )
    host = f"[{address.host}]" if ":" in address.host else address.host
    query = "" if token is None else f"?token={token}"
    url = f"http://{host}:{listener.getsockname()[1]}/{query}"
    return Site(url, uvicorn.Server(config), listener)
