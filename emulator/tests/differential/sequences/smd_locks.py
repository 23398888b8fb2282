"""SMD: locks and reservations, rigid and flexible, with right keys and wrong ones."""

from __future__ import annotations

from typing import Any

from differential.sequence import Sequence, Step, delete, get, post

LOCKS = "smd:/hsm/v2/locks"
ADMIN, SERVICE = f"{LOCKS}/reservations", f"{LOCKS}/service/reservations"
NODES = [f"x0c0s{number}b0n0" for number in range(6)]
FLEXIBLE = {"ProcessingModel": "flexible"}
STATUS = get(f"{LOCKS}/status")
THERE = post(
    "smd:/hsm/v2/State/Components",
    {
        "Components": [
            *({"ID": xname, "State": "On", "Role": "Compute", "NID": nid} for nid, xname in enumerate(NODES, start=1)),
            {"ID": "x0c0s0b0", "State": "Ready"},
        ]
    },
)


def some(*numbers: int, **more: Any) -> dict[str, Any]:
    return {"ComponentIDs": [f"x0c0s{number}b0n0" for number in numbers], **more}


def keys(*pairs: tuple[int, str], **more: Any) -> dict[str, Any]:
    return {"ReservationKeys": [{"ID": f"x0c0s{number}b0n0", "Key": key} for number, key in pairs], **more}


def deputies(*pairs: tuple[int, str]) -> dict[str, Any]:
    return {"DeputyKeys": [{"ID": f"x0c0s{number}b0n0", "Key": key} for number, key in pairs]}


def reserve(where: str, number: int, minutes: int = 0) -> Step:
    return post(
        where,
        some(number, ReservationDuration=minutes),
        keep={f"rk{number}": "body/Success/0/ReservationKey", f"dk{number}": "body/Success/0/DeputyKey"},
    )


FILTERS: tuple[Any, ...] = (
    *({}, some(9), some(0, 9), {"ComponentIDs": ["foo"]}, {"ProcessingModel": "no"}, some(0), some(0, **FLEXIBLE)),
    *(some(0, 1), some(0, 1, **FLEXIBLE), {**FLEXIBLE, "Type": ["node"]}, {**FLEXIBLE, "Type": ["node"]}),
    *({"Type": ["NodeBMC"]}, {"NID": ["1"]}, {"NID": ["x"]}, {"Group": ["nope"]}, {"Partition": ["NULL"]}, [], None),
    *({"Locked": ["x"]}, {"SoftwareStatus": ["a\0"]}, some(0, ReservationDuration=16), {"componentids": NODES[:1]}),
)

BAD_DEPUTIES: tuple[Any, ...] = ({}, deputies((3, "")), {"DeputyKeys": [{"ID": "foo"}]}, [])

SEQUENCES = [
    Sequence(
        "locks by every filter",
        THERE,
        *(
            step
            for action in ("lock", "unlock", "disable", "repair")
            for step in (*(post(f"{LOCKS}/{action}", body) for body in FILTERS), STATUS)
        ),
        get("smd:/hsm/v2/State/Components"),
    ),
    Sequence(
        "the status of locks",
        THERE,
        post(f"{LOCKS}/lock", some(1)),
        *(post(f"{LOCKS}/status", body) for body in FILTERS),
        post(f"{LOCKS}/status", {"ComponentIDs": ["X0C0S0B0N0", "x0c0s1b0n0", "x9"]}),
        *(post(f"{LOCKS}/status", {"Type": ["node"], "Reserved": [value]}) for value in ("true", "0", "x")),
        *(
            get(f"{LOCKS}/status?{query}")
            for query in (
                "type=node",
                "Type=foo",
                "reserved=x",
                "reserved=true",
                "locked=true",
                "locked=zz",
                "subrole=a",
            )
        ),
    ),
    Sequence(
        "an administrator reserves what is locked",
        THERE,
        *(post(ADMIN, body) for body in FILTERS),
        post(f"{LOCKS}/lock", some(1)),
        post(f"{LOCKS}/disable", some(2)),
        post(ADMIN, some(0, 1, 2)),
        post(ADMIN, some(0, 2, **FLEXIBLE)),
        reserve(ADMIN, 1),
        STATUS,
        post(ADMIN, some(1)),
        post(ADMIN, some(1, **FLEXIBLE)),
        *(post(f"{LOCKS}/unlock", some(1, **model)) for model in ({}, FLEXIBLE)),
        post(f"{SERVICE}/renew", keys((1, "<rk1>"), ReservationDuration=1)),
        post(f"{SERVICE}/renew", keys((1, "<rk1>"), ReservationDuration=1, **FLEXIBLE)),
        *(post(f"{ADMIN}/release", body) for body in ({}, FLEXIBLE, keys((1, "")), keys((1, ""), **FLEXIBLE))),
        post(f"{ADMIN}/release", {"ReservationKeys": [{"ID": "foo", "Key": "x"}]}),
        post(f"{ADMIN}/release", keys((1, "<dk1>"))),
        post(f"{ADMIN}/release", keys((1, "a\0"))),
        post(f"{ADMIN}/release", keys((1, "zz"), (3, "<rk1>"), **FLEXIBLE)),
        STATUS,
        reserve(ADMIN, 1),
        post(f"{ADMIN}/remove", some(1, 3)),
        post(f"{ADMIN}/remove", some(1, 3, **FLEXIBLE)),
        post(f"{ADMIN}/remove", some(1)),
    ),
    Sequence(
        "a service reserves what is not locked",
        THERE,
        post(f"{LOCKS}/lock", some(1)),
        post(f"{LOCKS}/disable", some(2)),
        *(post(SERVICE, some(3, **more)) for more in ({}, {"ReservationDuration": -1}, {"ReservationDuration": 16})),
        post(SERVICE, some(1, ReservationDuration=5)),
        post(SERVICE, some(2, ReservationDuration=5)),
        reserve(SERVICE, 3, 15),
        reserve(SERVICE, 4, 1),
        post(SERVICE, some(0, 1, 2, 3, 9, ReservationDuration=15, **FLEXIBLE)),
        post(SERVICE, some(3, 5, ReservationDuration=5)),
        post(f"{SERVICE}/check", deputies((3, "<dk3>"))),
        post(f"{SERVICE}/check", deputies((3, "<dk3>"), (4, "y"))),
        post(f"{SERVICE}/check", deputies((5, "<dk3>"))),
        *(post(f"{SERVICE}/check", body) for body in BAD_DEPUTIES),
        *(post(f"{SERVICE}/renew", body) for body in ({}, {"ReservationDuration": 1}, {"ReservationDuration": 16})),
        post(f"{SERVICE}/renew", keys((3, "<rk3>"), (4, "<rk4>"), ReservationDuration=2)),
        post(f"{SERVICE}/renew", keys((3, "<rk3>"), (3, "<rk3>"), ReservationDuration=2)),
        post(f"{SERVICE}/renew", keys((3, "<rk3>"), (1, "z"), ReservationDuration=2, **FLEXIBLE)),
        *(post(f"{LOCKS}/lock", some(3, 4, 5, **model)) for model in ({}, FLEXIBLE)),
        post(f"{LOCKS}/disable", some(3)),
        STATUS,
        post(f"{SERVICE}/release", keys((4, "<rk4>"), (3, "<rk3>"))),
        post(f"{SERVICE}/release", keys((4, "<rk4>"))),
        reserve(SERVICE, 4, 2),
        delete("smd:/hsm/v2/State/Components/x0c0s4b0n0"),
        THERE,
        STATUS,
    ),
]
