"""Objects: creation, reads, changes and deletion."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from csm_emulator.site import Site
from service_client import GARBAGE, reopen
from services.kubernetes.api import APPLY, HOOKS, JSON_PATCH, MAPS, MERGE, STRATEGIC, Api

SECRETS = "/api/v1/namespaces/user/secrets"


def test_an_object_is_read_back_as_it_was_written(api: Api) -> None:
    config_map = api.create(MAPS, "one", data={"a": "b"}, metadata={"labels": {"x": "y"}})
    assert config_map["data"] == {"a": "b"}
    assert (config_map["kind"], config_map["apiVersion"]) == ("ConfigMap", "v1")
    meta = config_map["metadata"]
    assert (meta["namespace"], meta["labels"]) == ("user", {"x": "y"})
    assert meta["uid"]
    assert meta["creationTimestamp"] == "2027-01-15T08:00:00Z"
    assert api.get(f"{MAPS}/one") == config_map
    assert api.names(MAPS) == ["one"]
    assert "one" in api.names("/api/v1/configmaps")


def test_it_survives_a_restart(api: Api) -> None:
    config_map = api.create(MAPS, "one", data={"a": "b"})
    site = reopen(api.site)
    reopened_api = Api(site)
    assert reopened_api.get(f"{MAPS}/one") == config_map
    assert reopened_api.get("/api/v1/pods")["items"] == api.get("/api/v1/pods")["items"]
    later = reopened_api.create(MAPS, "two")
    assert int(later["metadata"]["resourceVersion"]) > int(config_map["metadata"]["resourceVersion"])
    assert later["metadata"]["uid"] != config_map["metadata"]["uid"]
    site.state_file.close()


def test_refusals_have_the_words_of_the_real_one(api: Api) -> None:
    api.create(MAPS, "one")
    assert api.message("GET", f"{MAPS}/two") == '404 NotFound: configmaps "two" not found'
    assert api.message("GET", f"{HOOKS}/h") == '404 NotFound: globaltenanthooks.tapms.hpe.com "h" not found'
    assert api.message("POST", MAPS, {"metadata": {"name": "one"}}) == (
        '409 AlreadyExists: configmaps "one" already exists'
    )
    assert api.message("POST", "/api/v1/namespaces/nowhere/configmaps", {"metadata": {"name": "a"}}) == (
        '404 NotFound: namespaces "nowhere" not found'
    )
    assert api.message("POST", MAPS, {"metadata": {}}) == (
        '422 Invalid: ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
    )
    bad = api.message("POST", MAPS, {"metadata": {"name": "Not_Good"}})
    assert bad.startswith(
        '422 Invalid: ConfigMap "Not_Good" is invalid: metadata.name: Invalid value: "Not_Good": a low'
    )
    assert "does not match the namespace" in api.message("POST", MAPS, {"metadata": {"name": "a", "namespace": "b"}})
    assert "does not match the expected API version" in api.message(
        "POST", MAPS, {"apiVersion": "v2", "metadata": {"name": "a"}}
    )
    assert api.message("POST", f"{MAPS}/one", {}).startswith("405 MethodNotAllowed")
    reply = api.ask("GET", "/api/v1/namespaces/user/nonsense")
    assert (reply.status, reply.body) == (404, b"404 page not found\n")


def test_a_stale_version_is_a_conflict(api: Api) -> None:
    config_map = api.create(MAPS, "one", data={"a": "1"})
    changed = api.ask("PUT", f"{MAPS}/one", {**config_map, "data": {"a": "2"}})
    assert changed.status == 200
    assert api.message("PUT", f"{MAPS}/one", {**config_map, "data": {"a": "3"}}) == (
        '409 Conflict: Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply '
        "your changes to the latest version and try again"
    )
    assert api.get(f"{MAPS}/one")["data"] == {"a": "2"}
    unconditional = {"metadata": {"name": "one"}, "data": {"a": "4"}}
    assert api.ask("PUT", f"{MAPS}/one", unconditional).json()["data"] == {"a": "4"}


def test_a_change_of_nothing_is_none(api: Api) -> None:
    config_map = api.create(MAPS, "one", data={"a": "1"})
    assert api.patch(f"{MAPS}/one", {"data": {"a": "1"}}).json() == config_map


def test_the_three_patches(api: Api) -> None:
    api.create(MAPS, "one", data={"a": "1", "b": "2"})
    assert api.patch(f"{MAPS}/one", {"data": {"a": None, "c": "3"}}).json()["data"] == {"b": "2", "c": "3"}
    operations = [
        {"op": "test", "path": "/data/b", "value": "2"},
        {"op": "move", "from": "/data/b", "path": "/data/d"},
        {"op": "add", "path": "/metadata/labels", "value": {"x~y": "z"}},
        {"op": "remove", "path": "/metadata/labels/x~0y"},
    ]
    assert api.patch(f"{MAPS}/one", operations, JSON_PATCH).json()["data"] == {"c": "3", "d": "2"}
    refused = api.message("PATCH", f"{MAPS}/one", [{"op": "test", "path": "/data/d", "value": "?"}], JSON_PATCH)
    assert refused.startswith("422 Invalid: the server rejected our request due to an error in our request")
    wrong = api.message("PATCH", f"{MAPS}/one", {}, {"content-type": "text/plain"})
    assert wrong.startswith("415 UnsupportedMediaType: the body of the request was in an unknown format")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}
    merged = api.patch(f"{MAPS}/one", {"metadata": {"ownerReferences": [owner]}}, STRATEGIC).json()
    both = api.patch(f"{MAPS}/one", {"metadata": {"ownerReferences": [{**owner, "uid": "2"}]}}, STRATEGIC).json()
    assert [reference["uid"] for reference in merged["metadata"]["ownerReferences"]] == ["1"]
    assert [reference["uid"] for reference in both["metadata"]["ownerReferences"]] == ["1", "2"]


def test_strategic_patches_are_for_built_in_kinds_only(api: Api) -> None:
    api.create(HOOKS, "h")
    assert api.message("PATCH", f"{HOOKS}/h", {}, STRATEGIC) == (
        "415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


def test_server_side_apply_knows_who_owns_a_field(api: Api) -> None:
    def apply(manager: str, data: dict[str, str], more: str = "") -> Any:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": data}
        return api.ask("PATCH", f"{MAPS}/one?fieldManager={manager}{more}", body, APPLY)

    assert apply("me", {"a": "1", "b": "1"}).status == 201
    assert apply("you", {"c": "1"}).json()["data"] == {"a": "1", "b": "1", "c": "1"}
    clash = apply("you", {"a": "2", "c": "1"})
    assert clash.status == 409
    assert clash.json()["message"] == 'Apply failed with 1 conflict: conflict with "me" using v1: .data.a'
    assert apply("you", {"a": "2"}, "&force=true").json()["data"] == {"a": "2", "b": "1"}
    assert apply("me", {}).json()["data"] == {"a": "2"}
    assert "fieldManager: Required value" in api.message("PATCH", f"{MAPS}/one", {}, APPLY)


def test_dry_runs_change_nothing(api: Api) -> None:
    assert api.ask("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "one"}}).status == 201
    assert api.names(MAPS) == []
    api.create(MAPS, "one", data={"a": "1"})
    assert api.patch(f"{MAPS}/one?dryRun=All", {"data": {"a": "2"}}).json()["data"] == {"a": "2"}
    assert api.ask("DELETE", f"{MAPS}/one?dryRun=All").status == 200
    assert api.get(f"{MAPS}/one")["data"] == {"a": "1"}
    assert api.ask("DELETE", f"{MAPS}/one?dryRun=some").status == 422


def test_names_are_made_up_from_a_prefix(api: Api) -> None:
    names = {
        api.ask("POST", MAPS, {"metadata": {"generateName": "made-"}}).json()["metadata"]["name"] for _ in range(20)
    }
    assert len(names) == 20
    assert all(name.startswith("made-") and len(name) == 10 for name in names)


def test_secrets_are_encoded_and_typed(api: Api) -> None:
    secret = api.create(SECRETS, "s", stringData={"a": "b"})
    assert (secret["data"], secret["type"]) == ({"a": base64.b64encode(b"b").decode()}, "Opaque")
    assert "stringData" not in secret
    assert "illegal base64 data" in api.message("POST", SECRETS, {"metadata": {"name": "t"}, "data": {"a": "%"}})


def test_selectors(api: Api) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2", "y": ""}), ("c", {})):
        api.create(MAPS, name, metadata={"labels": labels})
    for text, names in {
        "x=1": "a",
        "x==2": "b",
        "x!=1": "bc",
        "x in (1,2)": "ab",
        "x notin (1)": "bc",
        "x": "ab",
        "!x": "c",
        "x,y": "b",
        "x=": "",
    }.items():
        assert "".join(api.names(f"{MAPS}?labelSelector={text.replace('=', '%3D')}")) == names, text
    assert api.names(f"{MAPS}?fieldSelector=metadata.name%3Db") == ["b"]
    assert api.names(f"{MAPS}?fieldSelector=metadata.name!%3Db") == ["a", "c"]
    assert api.message("GET", f"{MAPS}?fieldSelector=data%3Db") == "400 BadRequest: field label not supported: data"
    assert api.message("GET", f"{MAPS}?labelSelector=((").startswith("400 BadRequest: unable to parse requirement")


def test_lists_come_in_pages(api: Api) -> None:
    for number in range(5):
        api.create(MAPS, f"m{number}")
    first = api.get(f"{MAPS}?limit=2")
    assert first["metadata"]["remainingItemCount"] == 3
    second = api.get(f"{MAPS}?limit=3&continue={first['metadata']['continue']}")
    names = [item["metadata"]["name"] for page in (first, second) for item in page["items"]]
    assert names == ["m0", "m1", "m2", "m3", "m4"]
    assert "continue" not in second["metadata"]
    assert api.message("GET", f"{MAPS}?limit=2&continue=nonsense").startswith("410 Expired")


def test_finalizers_hold_an_object_until_they_are_gone(api: Api) -> None:
    hook = api.create(HOOKS, "h", metadata={"finalizers": ["x/y"]})
    deleted_hook = api.ask("DELETE", f"{HOOKS}/h").json()
    assert deleted_hook["metadata"]["deletionTimestamp"]
    assert api.get(f"{HOOKS}/h")["metadata"]["deletionGracePeriodSeconds"] == 0
    restored_hook = api.patch(f"{HOOKS}/h", {"metadata": {"deletionTimestamp": None}}).json()
    assert "deletionTimestamp" in restored_hook["metadata"]
    assert api.patch(f"{HOOKS}/h", {"metadata": {"finalizers": None}}).status == 200
    assert api.ask("GET", f"{HOOKS}/h").status == 404
    assert hook["metadata"]["uid"] == deleted_hook["metadata"]["uid"]


def test_dependents_go_with_their_last_owner(api: Api) -> None:
    owners = [api.create(MAPS, name) for name in ("first", "second")]
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        for owner in owners
    ]
    api.create(SECRETS, "of-both", metadata={"ownerReferences": references})
    api.create(SECRETS, "of-one", metadata={"ownerReferences": references[:1]})
    assert api.ask("DELETE", f"{MAPS}/first").json()["status"] == "Success"
    assert api.names(SECRETS) == ["of-both"]
    api.ask("DELETE", f"{MAPS}/second", {"propagationPolicy": "Orphan"})
    assert api.names(SECRETS) == ["of-both"]
    assert api.get(f"{SECRETS}/of-both")["metadata"]["ownerReferences"] == []


def test_a_deletion_may_be_for_one_version_only(api: Api) -> None:
    api.create(MAPS, "one")
    refused = api.message("DELETE", f"{MAPS}/one", {"preconditions": {"uid": "other"}})
    assert refused.startswith(
        '409 Conflict: Operation cannot be fulfilled on configmaps "one": Precondition failed: UID'
    )
    assert api.ask("DELETE", f"{MAPS}/one", {"preconditions": {"resourceVersion": "1"}}).status == 409
    assert api.names(MAPS) == ["one"]


def test_collections_are_deleted_by_selector(api: Api) -> None:
    api.create(MAPS, "a", metadata={"labels": {"x": "1"}})
    api.create(MAPS, "b")
    assert api.ask("DELETE", f"{MAPS}?labelSelector=x").status == 200
    assert api.names(MAPS) == ["b"]


def test_a_namespace_has_an_account_and_takes_everything_with_it(api: Api) -> None:
    namespace = api.create("/api/v1/namespaces", "mine")
    assert namespace["status"] == {"phase": "Active"}
    assert api.names("/api/v1/namespaces/mine/serviceaccounts") == ["default"]
    api.create("/api/v1/namespaces/mine/configmaps", "one", metadata={"finalizers": ["a/b"]})
    assert api.ask("DELETE", "/api/v1/namespaces/mine").json()["status"]["phase"] == "Terminating"
    refused = api.message("POST", "/api/v1/namespaces/mine/configmaps", {"metadata": {"name": "two"}})
    assert refused.endswith("unable to create new content in namespace mine because it is being terminated")
    api.step(10)
    assert api.get("/api/v1/namespaces/mine")["status"]["phase"] == "Terminating"
    api.patch("/api/v1/namespaces/mine/configmaps/one", {"metadata": {"finalizers": []}})
    api.step(10)
    assert api.ask("GET", "/api/v1/namespaces/mine").status == 404
    assert api.site.scheduler.next_moment() is None


@pytest.mark.parametrize(
    "path", [MAPS, HOOKS, SECRETS, "/api/v1/namespaces", "/apis/apps/v1/namespaces/user/deployments"]
)
def test_garbage_is_refused_and_nothing_breaks(api: Api, path: str) -> None:
    for body in (
        *GARBAGE,
        b'{"metadata":[]}',
        b'{"metadata":{"name":1}}',
        b'{"metadata":{"name":"a","labels":[1]}}',
        b'{"metadata":{"name":"a","ownerReferences":[1]}}',
        b'{"metadata":{"name":"a","finalizers":"x"}}',
        b'{"metadata":{"name":"a","managedFields":[1]}}',
    ):
        assert api.ask("POST", path, body).status in (400, 422), body
        assert 400 <= api.ask("PUT", f"{path}/a", body).status < 500
        for headers in (MERGE, JSON_PATCH, STRATEGIC, APPLY):
            assert 400 <= api.ask("PATCH", f"{path}/a?fieldManager=m", body, headers).status < 500, body


def test_short_texts_do_not_become_long_ones(api: Api) -> None:
    api.create(MAPS, "one", data={"a": "x" * 1000})
    copies = [{"op": "copy", "from": "/data", "path": f"/data/b{number}"} for number in range(40)]
    assert "accumulated size" in api.message("PATCH", f"{MAPS}/one", copies, JSON_PATCH)
    laughs = b"a: &a [x,x]\nb: &b [*a,*a]\nmetadata: {name: y}\n"
    assert api.ask("POST", MAPS, laughs, {"content-type": "application/yaml"}).status == 400
    deep = b'{"metadata":{"name":"y"},"spec":' + b'{"a":' * 700 + b"1" + b"}" * 701
    assert api.ask("POST", HOOKS, deep).status in (201, 400, 422)
    assert api.ask("POST", MAPS, b'{"metadata":{"name":"y"},"data":{"a":NaN}}').status == 400


def test_yaml_is_read_too(api: Api) -> None:
    reply = api.ask(
        "POST", MAPS, b"metadata: {name: y}\ndata: {a: b, d: 2027-01-01}", {"content-type": "application/yaml"}
    )
    assert (reply.status, reply.json()["data"]) == (201, {"a": "b", "d": "2027-01-01"})


def test_the_first_day(tiny: Site) -> None:
    api = Api(tiny)
    spaces = api.names("/api/v1/namespaces")
    assert {"services", "tenants", "ims", "vault", "slurm-operator", "user", "default", "kube-system"} <= set(spaces)
    nodes = api.get("/api/v1/nodes")["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["ncn-m001"]
    secret = api.get("/api/v1/namespaces/services/secrets/admin-client-auth")["data"]
    assert base64.b64decode(secret["client-id"]) == b"admin-client"
