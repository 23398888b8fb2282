"""Reservations: keys, and their end in virtual time."""

from __future__ import annotations

import re
from typing import Any

from services.smd.hsm_client import Hsm

A, B, C = "x0c0s0b0n0", "x0c0s1b0n0", "x0c0s2b0n0"
ADMIN, SERVICE = "/locks/reservations", "/locks/service/reservations"
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


def reserve(hsm: Hsm, *xnames: str, minutes: int = 1, model: str = "rigid") -> Any:
    body = {"ComponentIDs": list(xnames), "ReservationDuration": minutes, "ProcessingModel": model}
    return hsm.do("POST", SERVICE, body).json()


def keys(reply: Any) -> list[dict[str, str]]:
    return [{"ID": reservation["ID"], "Key": reservation["ReservationKey"]} for reservation in reply["Success"]]


def reserved(hsm: Hsm) -> list[str]:
    return sorted(component["ID"] for component in hsm.read("/locks/status?reserved=true")["Components"])


def test_keys_name_the_component_and_are_never_the_same(hsm: Hsm) -> None:
    hsm.make(A, B)
    reply = reserve(hsm, A, B)
    assert list(reply["Success"][0]) == ["ID", "DeputyKey", "ReservationKey", "ExpirationTime"]
    assert all(
        re.fullmatch(f"{reservation['ID']}:dk:{UUID}", reservation["DeputyKey"]) for reservation in reply["Success"]
    )
    assert all(
        re.fullmatch(f"{reservation['ID']}:rk:{UUID}", reservation["ReservationKey"])
        for reservation in reply["Success"]
    )
    hsm.do("POST", f"{SERVICE}/release", {"ReservationKeys": keys(reply)})
    assert not {reservation["Key"] for reservation in keys(reserve(hsm, A, B))} & {
        reservation["Key"] for reservation in keys(reply)
    }


def test_a_service_needs_it_unlocked_and_an_administrator_locked(hsm: Hsm) -> None:
    hsm.make(A)
    assert hsm.refusal("POST", ADMIN, {"ComponentIDs": [A]}) == (400, "Component is Unlocked")
    hsm.do("POST", "/locks/lock", {"ComponentIDs": [A]})
    body = {"ComponentIDs": [A], "ReservationDuration": 5}
    assert hsm.refusal("POST", SERVICE, body) == (400, "Component is Locked")
    reservation = hsm.do("POST", ADMIN, body).json()["Success"][0]
    assert "ExpirationTime" not in reservation
    hsm.site.step(3600)
    assert reserved(hsm) == [A]


def test_it_ends_when_its_time_is_over(hsm: Hsm) -> None:
    hsm.make(A)
    reserve(hsm, A, minutes=2)
    hsm.site.step(119)
    assert reserved(hsm) == [A]
    assert hsm.refusal("POST", SERVICE, {"ComponentIDs": [A], "ReservationDuration": 1}) == (
        400,
        "Component is Reserved",
    )
    hsm.site.step(2)
    assert reserved(hsm) == []
    reserve(hsm, A)


def test_renewing_needs_the_key_and_counts_from_now(hsm: Hsm) -> None:
    hsm.make(A)
    reply = reserve(hsm, A, minutes=1)
    hsm.site.step(50)
    wrong = {"ReservationKeys": [{"ID": A, "Key": f"{A}:rk:guess"}], "ReservationDuration": 1}
    assert hsm.refusal("POST", f"{SERVICE}/renew", wrong) == (400, "Component not found")
    hsm.do("POST", f"{SERVICE}/renew", {"ReservationKeys": keys(reply), "ReservationDuration": 1})
    hsm.site.step(50)
    assert reserved(hsm) == [A]
    hsm.site.step(11)
    assert reserved(hsm) == []


def test_the_deputy_key_proves_a_reservation_and_opens_nothing(hsm: Hsm) -> None:
    hsm.make(A, B)
    reservation = reserve(hsm, A)["Success"][0]
    deputies = [{"ID": A, "Key": reservation["DeputyKey"]}, {"ID": B, "Key": "b"}]
    reply = hsm.do("POST", f"{SERVICE}/check", {"DeputyKeys": deputies}).json()
    assert list(reply["Success"][0]) == ["ID", "DeputyKey", "CreationTime", "ExpirationTime"]
    assert reply["Failure"] == [{"ID": B, "Reason": "NotFound"}]
    body = {"ReservationKeys": [{"ID": A, "Key": reservation["DeputyKey"]}]}
    assert hsm.refusal("POST", f"{SERVICE}/release", body) == (400, "Component not found")
    assert reserved(hsm) == [A]


def test_flexible_tells_which_were_not_to_be_had(hsm: Hsm) -> None:
    hsm.make(A, B, C)
    hsm.do("POST", "/locks/lock", {"ComponentIDs": [B]})
    reserve(hsm, C)
    reply = reserve(hsm, A, B, C, model="flexible")
    assert [reservation["ID"] for reservation in reply["Success"]] == [A]
    assert sorted((reservation["ID"], reservation["Reason"]) for reservation in reply["Failure"]) == [
        (B, "Locked"),
        (C, "Reserved"),
    ]


def test_removal_asks_for_no_key(hsm: Hsm) -> None:
    hsm.make(A, B)
    reserve(hsm, A)
    assert hsm.refusal("POST", f"{ADMIN}/remove", {"ComponentIDs": [A, B]}) == (400, "Component not found")
    assert reserved(hsm) == [A]
    reply = hsm.do("POST", f"{ADMIN}/remove", {"ComponentIDs": [A, B], "ProcessingModel": "flexible"}).json()
    assert reply["Failure"] == [{"ID": B, "Reason": "NotFound"}]
    assert reserved(hsm) == []


def test_requests_without_what_they_need(hsm: Hsm) -> None:
    assert hsm.refusal("POST", SERVICE, {}) == (400, "ReservationDuration must be greater than 0")
    assert hsm.refusal("POST", f"{SERVICE}/check", {}) == (400, "Deputy Key required for operation")
    assert hsm.refusal("POST", f"{SERVICE}/release", {}) == (400, "Reservation Key required for operation")
    bad = {"ReservationKeys": [{"ID": "nonsense", "Key": "k"}]}
    assert hsm.refusal("POST", f"{ADMIN}/release", bad) == (400, "got HMSTypeInvalid instead of valid type")
    nul = {"ReservationKeys": [{"ID": A, "Key": "\0"}]}
    assert hsm.refusal("POST", f"{ADMIN}/release", nul) == (500, "operation 'POST' failed during store.")
