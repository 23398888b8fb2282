"""HSM's answers as PCS takes them: which are errors, which of those are retried, and how each is worded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from csm_emulator.clients.hsm import (
    Component,
    ComponentEndpoint,
    HsmClient,
    HsmResponse,
    Reservation,
    UnexpectedAnswer,
)
from csm_emulator.transport.call import Reply

RESERVATION_MINUTES = 1
"""The 1 of ``InitInstance`` in hsm/state_manager.go."""
RETRY_DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds between the attempts of PCS's HTTP client while HSM answers with 5xx."""
T = TypeVar("T")


class HsmUnavailable(Exception):
    """HSM answered with 5xx: the request is worth another attempt."""

    def __init__(self, path: str) -> None:
        super().__init__(f"POST http://cray-smd{path} giving up after {len(RETRY_DELAYS) + 1} attempt(s)")


class HsmFailure(Exception):
    """HSM answered with an error that another attempt does not mend, or with a body that cannot be read."""


class HsmInventory:
    """Every method raises ``HsmUnavailable`` and ``HsmFailure``."""

    def __init__(self, hsm: HsmClient) -> None:
        self._hsm = hsm

    def components(self, xnames: Sequence[str]) -> dict[str, Component]:
        """Those of the components that HSM has."""
        components = _value(_available(self._hsm.query_components(xnames)))
        return {component["ID"]: component for component in components}

    def component_endpoints(self, xnames: Sequence[str]) -> dict[str, ComponentEndpoint]:
        """What Redfish says about those of the components that were discovered."""
        endpoints = _value(_available(self._hsm.component_endpoints(urlencode([("id", xname) for xname in xnames]))))
        return {endpoint["ID"]: endpoint for endpoint in endpoints}

    def power_maps(self) -> dict[str, list[str]]:
        """The power supplies of each component, as far as they were entered in HSM."""
        response = _available(self._hsm.power_maps())
        try:
            power_maps = _value(response)
        except UnexpectedAnswer as error:
            raise HsmFailure("cannot unmarshal object into Go value of type []sm.PowerMap") from error
        return {power_map["id"]: list(power_map.get("poweredBy") or ()) for power_map in power_maps}


class HsmReservations:
    """Every method but ``release`` raises ``HsmUnavailable`` and ``HsmFailure``."""

    def __init__(self, hsm: HsmClient) -> None:
        self._hsm = hsm

    def reserve(self, xnames: Sequence[str]) -> dict[str, Reservation]:
        """The reservations of those components that could be reserved."""
        response = _available(self._hsm.reserve(xnames, "flexible", RESERVATION_MINUTES))
        if response.status == 400:
            raise HsmFailure(f"ERROR aquiring needed reservations: {_detail(response.reply)}")
        if response.status != 200:
            text = response.reply.body.decode(errors="replace")
            raise HsmFailure(f"ERROR aquiring needed reservations: {text}")
        return {reservation["ID"]: reservation for reservation in _value(response)}

    def renew(self, keys: Mapping[str, str]) -> set[str]:
        """``keys`` has the reservation key by xname. Returns the xnames whose reservation goes on."""
        if not keys:
            return set()
        response = _available(self._hsm.renew(keys, "flexible", RESERVATION_MINUTES))
        if response.status != 200:
            raise HsmFailure("ERROR reacquiring reservations: failed to renew")
        renewed = _value(response)
        return set(renewed)

    def check(self, deputy_keys: Mapping[str, str]) -> set[str]:
        """The xnames whose deputy key is valid."""
        if not deputy_keys:
            return set()
        response = _available(self._hsm.check(deputy_keys))
        if response.status != 200:
            message = f"ERROR validating deputy keys: Error response from deputy key check: {response.status}"
            raise HsmFailure(message)
        valid = _value(response)
        return set(valid)

    def release(self, keys: Mapping[str, str]) -> None:
        if keys:
            self._hsm.release(keys, "flexible")


def _available(response: HsmResponse[T]) -> HsmResponse[T]:
    if response.status >= 500 and response.status != 501:
        raise HsmUnavailable(response.path)
    return response


def _value(response: HsmResponse[T]) -> T:
    """An error below 500 is read as an answer too: PCS does not look at the status of these requests."""
    try:
        return response.value()
    except UnexpectedAnswer:
        raise
    except ValueError as error:
        raise _unreadable(error) from error


def _detail(reply: Reply) -> str:
    try:
        return str(reply.json().get("detail", ""))
    except ValueError as error:
        raise _unreadable(error) from error


def _unreadable(error: ValueError) -> HsmFailure:
    return HsmFailure(f"Error unmarshalling response body: {error}")
