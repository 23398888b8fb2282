"""Devices of the device flow (RFC 8628), whose users log in in a browser. Kept in memory, as in Keycloak."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from csm_emulator.services.keycloak import wall_clock
from csm_emulator.services.keycloak.realm.realm import Realm
from csm_emulator.services.keycloak.realm.users import Account
from csm_emulator.services.keycloak.responses import OAuthError

MAX_DEVICES = 1000
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"


class Decision(Enum):
    PENDING = "pending"
    GRANTED = "granted"
    DENIED = "denied"


@dataclass(slots=True)
class Device:
    code: str
    user_code: str
    client: str
    scope: str
    ends: float
    interval: int
    polled: float = 0.0
    decision: Decision = Decision.PENDING
    account: Account | None = None
    """The user who logged in for the device; None before."""
    consent: str = ""
    """A secret in the consent form, so that only the user who logged in can decide."""


class Devices:
    def __init__(self, realm: Realm) -> None:
        self._realm = realm
        self._by_code: dict[str, Device] = {}

    def forget(self) -> None:
        self._by_code.clear()

    def begin(self, client: str, scope: str) -> Device:
        moment = wall_clock.now()
        while len(self._by_code) >= MAX_DEVICES:
            del self._by_code[next(iter(self._by_code))]
        device = Device(
            self._realm.new_code(43, moment),
            self._new_user_code(moment),
            client,
            scope,
            moment + self._realm.settings["device_code_lifespan"],
            self._realm.settings["device_polling_interval"],
        )
        self._by_code[device.code] = device
        return device

    def _new_user_code(self, moment: float) -> str:
        digits = int(self._realm.new_code(16, moment), 16)
        letters = ""
        for _ in range(8):
            digits, index = divmod(digits, len(_LETTERS))
            letters += _LETTERS[index]
        return f"{letters[:4]}-{letters[4:]}"

    def poll(self, code: str, client: str) -> tuple[Account, str]:
        """The user and the scope. Raises ``OAuthError`` until the user has decided. A code is valid for one success."""
        device = self._by_code.get(code)
        if device is None:
            raise OAuthError(400, "invalid_grant", "Device code not valid")
        if device.client != client:
            raise OAuthError(400, "invalid_grant", "unauthorized client")
        moment = wall_clock.now()
        if device.ends < moment:
            raise OAuthError(400, "expired_token", "Device code is expired")
        too_soon, device.polled = moment - device.polled < device.interval, moment
        if too_soon:
            raise OAuthError(400, "slow_down", "Slow down")
        if device.decision is Decision.DENIED:
            raise OAuthError(400, "access_denied", "The end user denied the authorization request")
        if device.decision is Decision.PENDING or device.account is None:
            raise OAuthError(400, "authorization_pending", "The authorization request is still pending")
        del self._by_code[code]
        return device.account, device.scope

    def by_user_code(self, user_code: str) -> Device | None:
        """The pending device with this user code, ignoring blanks, dashes and case."""
        bare_code = _bare(user_code)
        matches = (device for device in self._by_code.values() if _bare(device.user_code) == bare_code)
        return next((device for device in matches if device.decision is Decision.PENDING), None)

    def by_consent(self, consent: str) -> Device | None:
        waiting = (device for device in self._by_code.values() if device.consent and device.consent == consent)
        return next((device for device in waiting if device.decision is Decision.PENDING), None)

    def logged_in(self, device: Device, account: Account) -> None:
        device.account = account
        device.consent = self._realm.new_code(43, wall_clock.now())


def _bare(code: str) -> str:
    return code.upper().replace("-", "").replace(" ", "")
