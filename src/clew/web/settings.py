"""What a web process is started with."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from clew.exceptions import InvalidParameterError

__all__ = ["WebSettings"]


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Settings of a web process.

    Parameters
    ----------
    store : str
        Path or address of the project's store.
    root : Path
        Folder that the paths of items are relative to.
    cache : Path
        Folder for thumbnails.
    host : str, default="127.0.0.1"
        Address to listen on.
    port : int, default=8765
        Port to listen on.
    base_path : str, default=""
        What stands before all paths, such as "/leaves": what a proxy puts there, or the place of
        one project among several.
    home : str or None, default=None
        Path of the list of projects, if one process serves several. None: it serves this one alone.
    hosts : tuple of str, default=()
        Further names under which browsers may reach it: those of a proxy.
    accounts : bool, default=False
        Whether people come by their own links. Needed to listen on other machines' requests.
    is_https : bool, default=False
        Whether browsers reach it by HTTPS, through a proxy: cookies are then sent by HTTPS alone.
    requests_per_minute : int, default=1200
        Requests that one person or address may make; an item's picture or sound counts as a
        sixteenth.

    Raises
    ------
    InvalidParameterError
        If the host is not loopback and there are no accounts, or the base path is invalid.
    """

    store: str
    root: Path
    cache: Path
    host: str = "127.0.0.1"
    port: int = 8765
    base_path: str = ""
    home: str | None = None
    hosts: tuple[str, ...] = field(default=())
    accounts: bool = False
    is_https: bool = False
    requests_per_minute: int = 1200

    def __post_init__(self) -> None:
        if not is_loopback(self.host) and not self.accounts:
            raise InvalidParameterError(
                f"host {self.host} is reachable from other machines, so everybody needs a link of "
                "their own: add --accounts, or leave --host out to serve this machine only"
            )
        if self.base_path and (not self.base_path.startswith("/") or self.base_path.endswith("/")):
            raise InvalidParameterError(
                f"base_path must start with / and not end with it, such as /leaves; got "
                f"{self.base_path!r}"
            )

    @property
    def cookie(self) -> str:
        """Name of the cookie of sessions: each project has its own, and the list sees all."""
        name = self.base_path.rpartition("/")[2]
        return "clew_session" if self.home is None else f"clew_session_{name}"

    @property
    def cookie_path(self) -> str:
        """Path to which browsers send the cookie."""
        return (self.base_path if self.home is None else self.home) or "/"
