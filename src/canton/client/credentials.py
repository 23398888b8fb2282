"""Where a client's token comes from, and how it gets another when that one runs out.

People log in and are given a short-lived access token and a refresh token, kept in a file that only they can read.
A refresh token works once, so two processes must not use it at the same time: a renewal holds a lock file, and reads
the tokens again, because another process may have renewed them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypedDict, cast

from canton.domain.errors import NotAuthenticated

if TYPE_CHECKING:
    from canton.client.oidc import Grant

EARLY = 20.0
"""A token is renewed this many seconds before it expires, so that it is still valid at the server."""
LOCK_PATIENCE = 30.0


class Credentials(Protocol):
    """Gives tokens."""

    def token(self) -> str | None:
        """The token to send now; None to send none."""

    def renew(self, used: str) -> str | None:
        """Another token than ``used``, which the server refused as expired; None if there is none."""


class Token:
    """One token, for as long as it lasts."""

    def __init__(self, token: str | None) -> None:
        # The error of http.client for an invalid header would quote the token.
        if token is not None and not (token.isascii() and token.isprintable()):
            raise NotAuthenticated("the token holds characters that no token has, such as a line end; get it again")
        self._token = token

    def token(self) -> str | None:
        return self._token

    def renew(self, used: str) -> str | None:  # noqa: ARG002
        return None


class StoredLogin(TypedDict, total=False):
    """What the file holds."""

    server: str
    access_token: str
    refresh_token: str
    expires_at: float
    issuer: str
    client_id: str
    ca: str | None


class Renewal(Protocol):
    """Asks an issuer for a new grant."""

    def __call__(self, stored_login: StoredLogin) -> Grant: ...


class StoredCredentials:
    """Tokens in a file, mode 0600; renewed by one process at a time.

    With ``server`` they are only for that server; tokens for another one are not sent to it.
    """

    def __init__(self, path: Path, renewal: Renewal, server: str | None = None) -> None:
        self._path = path
        self._renewal = renewal
        self._server = server

    def token(self) -> str | None:
        stored_login = self._read()
        if stored_login is None:
            return None
        token = stored_login.get("access_token")
        if (
            token
            and stored_login.get("expires_at", float("inf")) - EARLY < time.time()
            and stored_login.get("refresh_token")
        ):
            return self.renew(token)
        return token

    def renew(self, used: str) -> str | None:
        with _locked(self._path):
            stored_login = self._read()
            if stored_login is None:
                return None
            if stored_login.get("access_token") != used:
                return stored_login.get("access_token")
            if not stored_login.get("refresh_token"):
                return None
            grant = self._renewal(stored_login)
            write(self._path, cast("StoredLogin", {**stored_login, **grant}))
            return grant["access_token"]

    def _read(self) -> StoredLogin | None:
        stored_login = read(self._path)
        if stored_login is not None and self._server is not None and stored_login.get("server") != self._server:
            raise NotAuthenticated(
                f"the login in {self._path} is for {stored_login.get('server')} and not for {self._server}, so its "
                "token was not sent; log in again: canton login"
            )
        return stored_login


def read(path: Path) -> StoredLogin | None:
    """The stored login, or None. A file that other users can read is refused: they may know its tokens."""
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & 0o077:
                raise NotAuthenticated(
                    f"{path} can be read by others (mode {mode & 0o777:04o}), so its token may be known to them; "
                    "log in again: canton logout && canton login"
                )
            return cast("StoredLogin", json.load(file))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise NotAuthenticated(f"{path} is damaged; log in again: canton logout && canton login") from error


def write(path: Path, stored_login: StoredLogin) -> None:
    """Replace the file atomically; it is never readable by other users."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(stored_login, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file beside the path; the system releases it when its holder dies."""
    import fcntl  # noqa: PLC0415 (few commands renew)

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + LOCK_PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise NotAuthenticated(f"another canton has been renewing {path} for {LOCK_PATIENCE:g} s") from None
                time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)
