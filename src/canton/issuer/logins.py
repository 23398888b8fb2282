"""Checks passwords, slowly enough to make guessing useless."""

from __future__ import annotations

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
        # An unknown name is checked against this hash, so that it takes as long as a name that exists.
        self._unknown_user_hash = hash_password(fresh_secret())

    def check(self, username: str, password: str) -> User:
        subject = f"user {username[:128]}"
        wait = self._try(subject)
        if wait:
            raise LoginRefused(f"Too many attempts. Wait {wait} seconds, then try again.", 429, wait)
        # The pool bounds how many of these run at a time.
        is_correct = check_password(password[:1024], self._hashes.get(username, self._unknown_user_hash))
        user = self._users.get(username)
        if not is_correct or user is None:
            raise LoginRefused("The username or the password is wrong.", 401)
        with self._state.transaction() as connection:
            throttle.reset(connection, subject)
        return user

    def _try(self, subject: str) -> int:
        with self._state.transaction() as connection:
            return throttle.count_attempt(connection, subject, self._clock())
