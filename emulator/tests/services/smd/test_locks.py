"""Locks: rigid and flexible, and the actions that they prevent."""

from __future__ import annotations

from typing import Any

import pytest

from services.smd.hsm_client import COMPONENTS, Hsm

A, B, C = "x0c0s0b0n0", "x0c0s1b0n0", "x0c0s2b0n0"
LOCKS = "/locks"


def change(hsm: Hsm, action: str, *xnames: str, model: str = "") -> Any:
    body = {"ComponentIDs": list(xnames), "ProcessingModel": model}
    return hsm.do("POST", f"{LOCKS}/{action}", body).json()


def status(hsm: Hsm) -> dict[str, tuple[bool, bool, bool]]:
    components = hsm.read(f"{LOCKS}/status")["Components"]
    return {
        component["ID"]: (component["Locked"], component["Reserved"], component["ReservationDisabled"])
        for component in components
    }


def test_a_lock_shows_in_the_status_and_in_the_component(hsm: Hsm) -> None:
    hsm.make(A, B)
    assert change(hsm, "lock", A) == {
        "Counts": {"Total": 1, "Success": 1, "Failure": 0},
        "Success": {"ComponentIDs": [A]},
        "Failure": [],
    }
    assert status(hsm) == {A: (True, False, False), B: (False, False, False)}
    assert hsm.read(f"{COMPONENTS}/{A}")["Locked"] is True
    change(hsm, "unlock", A)
    assert "Locked" not in hsm.read(f"{COMPONENTS}/{A}")


def test_rigid_is_all_or_nothing(hsm: Hsm) -> None:
    hsm.make(A, B, C)
    change(hsm, "lock", B)
    body = {"ComponentIDs": [A, B, C]}
    assert hsm.refusal("POST", f"{LOCKS}/lock", body) == (400, "Component is Locked")
    assert [xname for xname, (locked, _, _) in status(hsm).items() if locked] == [B]


def test_flexible_does_what_it_can(hsm: Hsm) -> None:
    hsm.make(A, B, C)
    change(hsm, "lock", B)
    change(hsm, "disable", C)
    reply = change(hsm, "lock", A, B, C, model="flexible")
    assert reply["Counts"] == {"Total": 3, "Success": 1, "Failure": 2}
    assert reply["Success"] == {"ComponentIDs": [A]}
    assert sorted((component["ID"], component["Reason"]) for component in reply["Failure"]) == [
        (B, "Locked"),
        (C, "Disabled"),
    ]


def test_components_that_are_reserved_stay_as_they_are(hsm: Hsm) -> None:
    hsm.make(A)
    hsm.do("POST", f"{LOCKS}/service/reservations", {"ComponentIDs": [A], "ReservationDuration": 1})
    for model in ("rigid", "flexible"):
        refusal = hsm.refusal("POST", f"{LOCKS}/lock", {"ComponentIDs": [A], "ProcessingModel": model})
        assert refusal == (400, "Component is Reserved")


def test_disabling_takes_the_reservation_away(hsm: Hsm) -> None:
    hsm.make(A)
    hsm.do("POST", f"{LOCKS}/service/reservations", {"ComponentIDs": [A], "ReservationDuration": 1})
    change(hsm, "disable", A)
    assert status(hsm) == {A: (False, False, True)}
    change(hsm, "repair", A)
    assert status(hsm) == {A: (False, False, False)}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "Component not found"),
        ({"ComponentIDs": ["x9c0s0b0n0"]}, "Component not found"),
        ({"ComponentIDs": ["nonsense"]}, "Argument was not a valid xname ID"),
        ({"ProcessingModel": "lax"}, "Invalid Processing Model"),
        ({"ReservationDuration": 16}, "Invalid Reservation Duration"),
        ({"Role": ["missing"]}, "Argument was not a valid HMS Role"),
    ],
)
def test_the_components_of_a_lock_must_exist(hsm: Hsm, body: Any, detail: str) -> None:
    for action in ("lock", "unlock", "disable", "repair", "status"):
        assert hsm.refusal("POST", f"{LOCKS}/{action}", body) == (400, detail)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"ComponentIDs":"x0"}', b'{"ComponentIDs":[1]}', b"\xff", b'"\0"']
)
def test_what_is_not_json_is_blamed_on_the_server(hsm: Hsm, body: bytes) -> None:
    status_, detail = hsm.refusal("POST", f"{LOCKS}/lock", body)
    assert (status_, detail[:20]) == (500, "error decoding JSON ")


def test_the_status_names_those_that_are_not_there(hsm: Hsm) -> None:
    hsm.make(A)
    reply = hsm.do("POST", f"{LOCKS}/status", {"ComponentIDs": [A.upper(), "x9"]}).json()
    assert [component["ID"] for component in reply["Components"]] == [A]
    assert reply["NotFound"] == ["x9"]


def test_the_status_by_query(hsm: Hsm) -> None:
    hsm.make(A, B)
    change(hsm, "lock", A)
    assert [component["ID"] for component in hsm.read(f"{LOCKS}/status?locked=true")["Components"]] == [A]
    assert hsm.read(f"{LOCKS}/status?reserved=true") == {"Components": []}
    assert hsm.refusal("GET", f"{LOCKS}/status?reserved=perhaps") == (400, "bad 'Reserved' query parameter: perhaps")


def test_locks_survive_the_component_being_deleted_and_made_anew_not_at_all(hsm: Hsm) -> None:
    hsm.make(A)
    hsm.do("POST", f"{LOCKS}/service/reservations", {"ComponentIDs": [A], "ReservationDuration": 1})
    hsm.do("DELETE", f"{COMPONENTS}/{A}")
    hsm.make(A)
    assert status(hsm) == {A: (False, False, False)}
