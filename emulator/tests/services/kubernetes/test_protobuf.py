"""Objects in the protobuf of newer clients: encoded here by hand, after the API's ``generated.proto``."""

from __future__ import annotations

import pytest

from csm_emulator.services.kubernetes.encoding import protobuf
from csm_emulator.transport.call import Call, Reply
from services.kubernetes.api import PODS, Api

ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
EVICTION = f"{PODS}/cray-console-node-0/eviction"


def varint(value: int) -> bytes:
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def entry(number: int, key: str, value: bytes | str) -> bytes:
    return field(number, field(1, key) + field(2, value))


def meta(name: str, *more: bytes) -> bytes:
    """The encoding of Go, which includes empty texts, zeros, and an empty time."""
    empty = b"".join(field(number, "") for number in (2, 3, 4, 5, 6)) + field(7, 0) + field(8, b"")
    return field(1, field(1, name) + empty + b"".join(more))


def wrapped(kind: str, *fields: bytes, version: str = "v1") -> bytes:
    about = field(1, version) + field(2, kind)
    return b"k8s\0" + field(1, about) + field(2, b"".join(fields)) + field(3, "") + field(4, "")


def send(api: Api, path: str, body: bytes, method: str = "POST") -> Reply:
    headers = {"content-type": protobuf.MEDIA, "accept": f"{protobuf.MEDIA},application/json"}
    return api.site.ask("kubernetes", Call(method, path, headers=headers, body=body, caller="kubernetes-admin"))


def test_a_secret(api: Api) -> None:
    labels = entry(11, "app", "slurm") + entry(11, "tier", "") + entry(12, "note", "ü" * 200) + field(14, "a/b")
    body = wrapped(
        "Secret", meta("s", labels), entry(2, "key", b"\0\xff"), entry(4, "word", "x"), field(3, "t"), field(5, 1)
    )
    reply = send(api, "/api/v1/namespaces/user/secrets", body)
    assert (reply.status, reply.media) == (201, "application/json")
    secret = reply.json()
    assert secret["data"] == {"key": "AP8=", "word": "eA=="}
    assert (secret["type"], secret["immutable"]) == ("t", True)
    assert secret["metadata"]["labels"] == {"app": "slurm", "tier": ""}
    assert secret["metadata"]["annotations"] == {"note": "ü" * 200}
    assert secret["metadata"]["finalizers"] == ["a/b"]


def test_a_config_map(api: Api) -> None:
    body = wrapped("ConfigMap", meta("c"), entry(2, "a", "text"), entry(2, "b", ""), entry(3, "raw", b"\x80"))
    config_map = send(api, "/api/v1/namespaces/user/configmaps", body).json()
    assert (config_map["data"], config_map["binaryData"]) == ({"a": "text", "b": ""}, {"raw": "gA=="})


def test_a_namespace_and_an_account_in_it(api: Api) -> None:
    assert (
        send(api, "/api/v1/namespaces", wrapped("Namespace", meta("new"), field(2, b""), field(3, b""))).status == 201
    )
    body = wrapped("ServiceAccount", meta("sa"), field(3, field(1, "pull")), field(4, 0))
    account = send(api, "/api/v1/namespaces/new/serviceaccounts", body).json()
    assert account["imagePullSecrets"] == [{"name": "pull"}]
    assert account["automountServiceAccountToken"] is False


def test_what_the_path_does_not_say(api: Api) -> None:
    body = wrapped("Secret", meta("s"))
    assert send(api, "/api/v1/namespaces/user/configmaps", body).status == 400


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/apps/v1/namespaces/user/deployments", wrapped("Deployment", meta("d"), version="apps/v1")),
        ("/apis/tapms.hpe.com/v1alpha3/namespaces/tenants/tenants", wrapped("Tenant", meta("t"), version="v1")),
    ],
)
def test_kinds_that_go_as_json_only(api: Api, path: str, body: bytes) -> None:
    reply = send(api, path, body)
    assert reply.status == 415
    assert "accepted media types include: application/json" in reply.json()["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/apis/apps/v1/namespaces/user/deployments"),
        ("POST", ACCESS),
        ("POST", EVICTION),
        ("DELETE", f"{PODS}/cray-console-node-0"),
    ],
)
def test_a_kind_that_is_not_read_is_named(api: Api, method: str, path: str) -> None:
    status = send(api, path, wrapped("Thing", meta("x"), version="apps/v1"), method).json()
    assert (status["kind"], status["code"]) == ("Status", 415)
    assert "apps/v1 Thing in application/vnd.kubernetes.protobuf" in status["message"]


def test_what_one_may(api: Api) -> None:
    about = field(1, "services") + field(2, "get") + field(5, "pods")
    reply = send(
        api,
        ACCESS,
        wrapped("SelfSubjectAccessReview", meta(""), field(2, field(1, about)), version="authorization.k8s.io/v1"),
    )
    assert reply.status == 201
    review = reply.json()
    assert review["spec"]["resourceAttributes"] == {"namespace": "services", "verb": "get", "resource": "pods"}
    assert review["status"] == {"allowed": True}


def test_who_one_is(api: Api) -> None:
    reply = send(
        api,
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        wrapped("SelfSubjectReview", meta(""), version="authentication.k8s.io/v1"),
    )
    assert reply.status == 201
    assert "system:masters" in reply.json()["status"]["userInfo"]["groups"]


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1"])
def test_a_pod_is_evicted(api: Api, version: str) -> None:
    options = field(2, field(1, 7))
    assert send(api, EVICTION, wrapped("Eviction", meta("other"), options, version=version)).status == 400
    dry = field(2, field(5, "All"))
    assert send(api, EVICTION, wrapped("Eviction", meta("cray-console-node-0"), dry, version=version)).status == 201
    assert "deletionTimestamp" not in api.get(f"{PODS}/cray-console-node-0")["metadata"]
    reply = send(api, EVICTION, wrapped("Eviction", meta("cray-console-node-0"), options, version=version))
    assert (reply.status, reply.json()["status"]) == (201, "Success")
    assert api.get(f"{PODS}/cray-console-node-0")["metadata"]["deletionGracePeriodSeconds"] == 7
    eviction = send(api, f"{PODS}/none/eviction", wrapped("Eviction", meta("none"), version=version))
    assert eviction.status == 404
    stale = field(2, field(2, field(1, "another-uid")))
    refused = send(api, EVICTION, wrapped("Eviction", meta("cray-console-node-0"), stale, version=version))
    assert refused.status == 409


def test_options_of_a_deletion(api: Api) -> None:
    path = f"{PODS}/cray-console-node-0"
    assert send(api, path, wrapped("DeleteOptions", field(5, "All")), "DELETE").status == 200
    assert api.ask("DELETE", path, {"dryRun": ["All"]}).status == 200
    assert "deletionTimestamp" not in api.get(path)["metadata"]
    negative = field(1, (1 << 64) - 1)
    assert send(api, path, wrapped("DeleteOptions", negative, version="apps/v1"), "DELETE").status == 200
    assert send(api, path, wrapped("DeleteOptions", field(1, 0)), "DELETE").status == 200
    assert api.ask("GET", path).status == 404


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"k8s\0\xff",
        b"k8s\0" + b"\x80" * 11,
        b"k8s\0" + field(1, "x" * 9)[:-1],
        b"k8s\0" + b"\x0b",
        b"k8s\0" + field(1, 7),
        wrapped("Secret", field(1, 5)),
        wrapped("Secret", meta("s"), field(2, field(1, b"\xff"))),
        wrapped("Secret", meta("s"), field(5, b"x")),
    ],
)
def test_what_is_not_protobuf(api: Api, body: bytes) -> None:
    reply = send(api, "/api/v1/namespaces/user/secrets", body)
    assert reply.status == 400
    assert "error decoding the body of the request: " in reply.json()["message"]


def test_fields_of_every_form_are_passed_over(api: Api) -> None:
    fixed = varint(90 << 3 | 1) + b"8" * 8 + varint(91 << 3 | 5) + b"4444" + field(92, 1 << 63)
    assert send(api, "/api/v1/namespaces/user/secrets", wrapped("Secret", fixed, meta("s"), fixed)).status == 201
