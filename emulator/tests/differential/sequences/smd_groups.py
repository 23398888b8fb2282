"""Groups, partitions and memberships."""

from __future__ import annotations

from differential.sequence import Sequence, ask, delete, get, patch, post

COMPONENTS = "smd:/hsm/v2/State/Components"
N0, N1, N2 = "x0c0s0b0n0", "x0c0s0b0n1", "x0c0s1b0n0"
NODES = post(COMPONENTS, {"Components": [{"ID": xname, "State": "Off"} for xname in (N0, N1, N2, "x0c0s0b0", "x0")]})
KINDS = (("groups", "label", "blue", "red"), ("partitions", "name", "p1", "p1.2"))
BROKEN: tuple[object, ...] = (
    {},
    {"NAME": ""},
    {"NAME": "no way"},
    {"NAME": "ä"},
    {"NAME": "a/b"},
    {"NAME": "p3", "description": "d" * 256},
    {"NAME": "p3", "description": "a\u0000"},
    {"NAME": "p3", "tags": ["t" * 256]},
    {"NAME": "p3", "tags": ["no way"]},
    {"NAME": "p3", "tags": [""]},
    {"NAME": "p3", "tags": [5]},
    {"NAME": "p3", "tags": "x"},
    {"NAME": "p3", "exclusiveGroup": "no way"},
    {"NAME": "p3", "exclusiveGroup": 1},
    {"NAME": "p3", "members": []},
    {"NAME": "p3", "members": {"ids": N0}},
    {"NAME": "p3", "members": {"ids": ["foo"]}},
    {"NAME": "p3", "members": {"ids": [5]}},
    {"NAME": "p3", "members": {"ids": [None]}},
    {"NAME": "p3", "members": {"ids": ["x9999c0s0b0n0"]}},
    {"NAME": "p3", "members": {"ids": [N0, N0.upper()]}},
    {"NAME": "p3", "members": {"ids": [N0, "x9999", N0]}},
    {"NAME": 5},
    {"NAME": None},
    [],
    None,
    "x",
    5,
)


def _life(kind: str, name: str, one: str, two: str) -> Sequence:
    base = f"smd:/hsm/v2/{kind}"
    broken = [
        {name if key == "NAME" else key: value for key, value in body.items()} if isinstance(body, dict) else body
        for body in BROKEN
    ]
    return Sequence(
        f"{kind}: made, changed, deleted",
        NODES,
        get(base),
        get(f"{base}/{'labels' if kind == 'groups' else 'names'}"),
        post(
            base, {name: one.upper(), "description": "The First <&>", "tags": ["Big", "odd"], "members": {"ids": [N0]}}
        ),
        post(base, {name: two, "members": {"ids": ["X0C0S0B0N1"]}}),
        post(base, {name: one}),
        *(post(base, body) for body in broken),
        post(base, raw=b"{"),
        get(base),
        get(f"{base}/{'labels' if kind == 'groups' else 'names'}"),
        get(f"{base}/{one}"),
        get(f"{base}/{one.upper()}"),
        get(f"{base}/nothing"),
        get(f"{base}/no%20way"),
        get(f"{base}/{one}/members"),
        get(f"{base}/nothing/members"),
        get(f"{base}/no%20way/members"),
        post(f"{base}/{one}/members", {"id": N2}),
        post(f"{base}/{one}/members", {"id": N2}),
        post(f"{base}/{one.upper()}/members", {"ID": "x00"}),
        post(f"{base}/{one}/members", {"id": "foo"}),
        post(f"{base}/{one}/members", {"id": "x9999"}),
        post(f"{base}/{one}/members", {"id": 5}),
        post(f"{base}/{one}/members", {}),
        post(f"{base}/{one}/members", raw=b""),
        post(f"{base}/nothing/members", {"id": N2}),
        post(f"{base}/no%20way/members", {"id": N2}),
        post(f"{base}/{two}/members", {"id": N0}),
        get(base),
        delete(f"{base}/{one}/members/{N2}"),
        delete(f"{base}/{one}/members/{N2}"),
        delete(f"{base}/{one}/members/foo"),
        delete(f"{base}/nothing/members/{N0}"),
        delete(f"{base}/no%20way/members/{N0}"),
        patch(f"{base}/{one}", {"description": "second"}),
        patch(f"{base}/{one}", {"tags": ["New"]}),
        get(f"{base}/{one}"),
        patch(f"{base}/{one}", {"description": "", "tags": []}),
        get(f"{base}/{one}"),
        patch(f"{base}/{one}", {}),
        patch(f"{base}/{one}", {"description": None}),
        patch(f"{base}/{one}", {"label": "other"}),
        patch(f"{base}/{one}", {"tags": ["no way"]}),
        patch(f"{base}/{one}", {"tags": 5}),
        patch(f"{base}/{one}", {"tags": [5]}),
        patch(f"{base}/{one}", {"description": 5}),
        patch(f"{base}/{one}", {"description": "d" * 256}),
        patch(f"{base}/{one}", {"tags": ["t" * 256]}),
        patch(f"{base}/{one}", raw=b"nul"),
        patch(f"{base}/nothing", {"description": "x"}),
        patch(f"{base}/nothing", {}),
        patch(f"{base}/no%20way", {"description": "x"}),
        patch(f"{base}/no%20way", {}),
        get(base),
        delete(f"{COMPONENTS}/{N0}"),
        get(base),
        delete(f"{base}/{one}"),
        delete(f"{base}/{one}"),
        delete(f"{base}/no%20way"),
        get(base),
        delete(COMPONENTS),
        get(base),
        *(
            ask(method, f"{base}{path}")
            for method in ("HEAD", "OPTIONS", "PATCH", "PUT", "POST", "DELETE")
            for path in ("", "/", "/labels", "/names", "/x/members", "/x/members/x0", "/x/y")
        ),
    )


SEQUENCES = [
    *(_life(*kind) for kind in KINDS),
    Sequence(
        "groups that exclude one another",
        NODES,
        post("smd:/hsm/v2/groups", {"label": "a", "exclusiveGroup": "Excl", "members": {"ids": [N0]}}),
        post("smd:/hsm/v2/groups", {"label": "b", "exclusiveGroup": "excl", "members": {"ids": [N0]}}),
        post("smd:/hsm/v2/groups", {"label": "b", "exclusiveGroup": "excl", "members": {"ids": [N1, N1]}}),
        post("smd:/hsm/v2/groups", {"label": "b", "exclusiveGroup": "excl", "members": {"ids": [N1, "x9999", N0]}}),
        post("smd:/hsm/v2/groups", {"label": "b", "exclusiveGroup": "excl", "members": {"ids": [N1]}}),
        post("smd:/hsm/v2/groups", {"label": "c", "exclusiveGroup": "other", "members": {"ids": [N0, N1]}}),
        post("smd:/hsm/v2/groups/b/members", {"id": N0}),
        post("smd:/hsm/v2/groups/b/members", {"id": N1}),
        post("smd:/hsm/v2/groups/b/members", {"id": N2}),
        get("smd:/hsm/v2/groups"),
        get(f"smd:/hsm/v2/memberships/{N0}"),
        get("smd:/hsm/v2/memberships"),
    ),
    Sequence(
        "groups seen through partitions and tags",
        NODES,
        get("smd:/hsm/v2/groups?partition=p9"),
        post("smd:/hsm/v2/groups", {"label": "blue", "tags": ["x", "y"], "members": {"ids": [N0, N1]}}),
        post("smd:/hsm/v2/groups", {"label": "red", "tags": ["y"], "members": {"ids": [N1, N2]}}),
        post("smd:/hsm/v2/groups", {"label": "empty"}),
        post("smd:/hsm/v2/partitions", {"name": "p1", "tags": ["x"], "members": {"ids": [N1, "x0"]}}),
        post("smd:/hsm/v2/partitions", {"name": "p2"}),
        *(
            get(f"smd:/hsm/v2/{path}?{query}")
            for path in (
                "groups",
                "groups/blue",
                "groups/blue/members",
                "groups/nothing",
                "partitions",
                "partitions/p1",
            )
            for query in (
                "group=blue",
                "group=BLUE&group=red",
                "group=",
                "group=no%20way",
                "tag=x",
                "tag=X&tag=y",
                "tag=none",
                "tag=",
                "partition=p1",
                "partition=P1",
                "partition=p2",
                "partition=p9",
                "partition=NULL",
                "partition=null",
                "partition=p1&partition=p2",
                "partition=",
                "partition=no%20way",
                "nonsense=1",
                "a=1;b=2",
            )
        ),
    ),
    Sequence(
        "memberships",
        get("smd:/hsm/v2/memberships"),
        NODES,
        get("smd:/hsm/v2/memberships"),
        get(f"smd:/hsm/v2/memberships/{N0}"),
        post("smd:/hsm/v2/groups", {"label": "blue", "members": {"ids": [N0, N1]}}),
        post("smd:/hsm/v2/groups", {"label": "red", "members": {"ids": [N0]}}),
        post("smd:/hsm/v2/partitions", {"name": "p1.2", "members": {"ids": [N0]}}),
        get("smd:/hsm/v2/memberships"),
        get(f"smd:/hsm/v2/memberships/{N0.upper()}"),
        get("smd:/hsm/v2/memberships/foo"),
        get("smd:/hsm/v2/memberships/x9999"),
        get("smd:/hsm/v2/memberships/"),
        ask("PATCH", "smd:/hsm/v2/memberships"),
        ask("PUT", "smd:/hsm/v2/memberships"),
        delete("smd:/hsm/v2/memberships/x0"),
    ),
    Sequence(
        "partitions by name",
        NODES,
        *(
            post("smd:/hsm/v2/partitions", {"name": name})
            for name in ("p1", "P2", "p1.1", "p1.1.1", "p1x2", "p", "p.1", "hard", "p01", "p1 ", "")
        ),
        get("smd:/hsm/v2/partitions"),
        get("smd:/hsm/v2/partitions/names"),
        post("smd:/hsm/v2/partitions", {"name": "p7", "members": {"ids": [N0]}}),
        post("smd:/hsm/v2/partitions", {"name": "p8", "members": {"ids": [N1, N0]}}),
        post("smd:/hsm/v2/partitions", {"name": "p8", "members": {"ids": [N1]}}),
        post("smd:/hsm/v2/partitions/p7/members", {"id": N1}),
        post("smd:/hsm/v2/groups", {"label": "p7", "members": {"ids": [N0]}}),
        get(f"{COMPONENTS}?group=p7"),
        get(f"{COMPONENTS}?partition=p7"),
    ),
]
