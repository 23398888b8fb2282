"""Whether a password is right, slowly enough that guessing does not pay."""

from __future__ import annotations

import threading
from collections.abc import Callable

from canton.issuer import throttle
from canton.issuer.passwords import check_password, hash_password, is_hash
from canton.issuer.settings import EmbeddedIssuer, User
from canton.issuer.state import State, fresh_secret


class LoginRefused(Exception):
    """``message`` is for the person at the page."""

    def __init__(self, message: str, status: int, wait: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.wait = wait


class Logins:
    def __init__(self, issuer: EmbeddedIssuer, state: State, clock: Callable[[], float]) -> None:
        self._state = state
        self._clock = clock
        self._users = {user.username: user for user in issuer.users}
        self._hashes = {
            u.username: u.password if is_hash(u.password) else hash_password(u.password) for u in issuer.users
        }
        # For names that nobody has: they take as long as others, and do not stand out by it.
        self._nobody = hash_password(fresh_secret())
        # Each check takes 16 MB.
        self._few = threading.BoundedSemaphore(4)

    def check(self, username: str, password: str) -> User:
        subject = f"user {username[:128]}"
        wait = self._try(subject)
        if wait:
            raise LoginRefused(f"Too many tries. Wait {wait} seconds, then try again.", 429, wait)
        if not self._few.acquire(timeout=5):
            raise LoginRefused("Too many people log in right now. Try again in a moment.", 503, 5)
        try:
            right = check_password(password[:1024], self._hashes.get(username, self._nobody))
        finally:
            self._few.release()
        user = self._users.get(username)
        if not right or user is None:
            raise LoginRefused("The username or the password is wrong.", 401)
        with self._state.transaction() as connection:
            throttle.succeeded(connection, subject)
        return user

    def _try(self, subject: str) -> int:
        with self._state.transaction() as connection:
            return throttle.try_once(connection, subject, self._clock())
