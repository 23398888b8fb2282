from __future__ import annotations

import json

import pytest

from csm_emulator.seed_data.buckets import BUCKETS
from services.s3.s3_caller import Caller, code, header, texts


def test_buckets_come_and_go(s3: Caller) -> None:
    assert s3.texts("/", "Name") == sorted(BUCKETS)
    assert s3.refusal("HEAD", "/mine") == "404 NoSuchBucket"
    assert s3.ask("PUT", "/mine").status == s3.ask("PUT", "/mine").status == 200
    assert "mine" in s3.texts("/", "Name")
    s3.put("mine", "a")
    assert header(s3.ask("HEAD", "/mine"), "x-rgw-object-count") == "1"
    assert s3.refusal("DELETE", "/mine") == "409 BucketNotEmpty"
    s3.ask("DELETE", "/mine/a")
    assert s3.ask("DELETE", "/mine").status == 204
    assert s3.refusal("GET", "/mine") == s3.refusal("DELETE", "/mine") == "404 NoSuchBucket"


@pytest.mark.parametrize("name", ["ab", "Abc", "a_b", "a..b", "-abc", "abc-", "10.0.0.1", "a" * 64, "%C3%BCab"])
def test_names_that_no_bucket_has(s3: Caller, name: str) -> None:
    assert s3.refusal("PUT", f"/{name}") == "400 InvalidBucketName"


def test_places(s3: Caller) -> None:
    body = "<CreateBucketConfiguration><LocationConstraint>{}</LocationConstraint></CreateBucketConfiguration>"
    assert s3.ask("PUT", "/mine", body.format("default").encode()).status == 200
    assert s3.refusal("PUT", "/other", body.format("eu-west-1").encode()) == "400 InvalidLocationConstraint"
    assert b">default</LocationConstraint>" in s3.ask("GET", "/mine?location").body


def test_a_host_may_name_the_bucket(s3: Caller) -> None:
    s3.put("sds", "a/b", b"data")
    host = {"host": "sds.rgw-vip.nmn:8080"}
    assert s3.ask("GET", "/a/b", headers=host).body == b"data"
    assert texts(s3.ask("GET", "/", headers=host), "Key") == ["a/b"]


def test_anonymous_callers_have_the_permissions_of_lists(s3: Caller) -> None:
    s3.put("sds", "a", b"data")

    def rights() -> tuple[int, int, int]:
        """The permissions to read an object, to list, and to write."""
        reads, lists = s3.unsigned("GET", "/sds/a"), s3.unsigned("GET", "/sds")
        return reads.status, lists.status, s3.unsigned("PUT", "/sds/b", b"new").status

    assert rights() == (403, 403, 403)
    s3.ask("PUT", "/sds/a?acl", headers={"x-amz-acl": "public-read"})
    assert rights() == (200, 403, 403)
    s3.ask("PUT", "/sds?acl", headers={"x-amz-acl": "public-read"})
    assert rights() == (200, 200, 403)
    s3.ask("PUT", "/sds?acl", headers={"x-amz-acl": "public-read-write"})
    assert rights() == (200, 200, 200)
    copy = {"x-amz-copy-source": "ims/secret"}
    assert code(s3.unsigned("PUT", "/sds/c", headers=copy)) == "403 AccessDenied"
    s3.ask("PUT", "/sds?acl", headers={"x-amz-acl": "private"})
    assert s3.refusal("PUT", "/sds?acl", headers={"x-amz-acl": "odd"}) == "400 InvalidArgument"
    assert rights() == (200, 403, 403)
    assert texts(s3.unsigned("GET", "/"), "Name") == []
    assert code(s3.unsigned("DELETE", "/sds")) == code(s3.unsigned("PUT", "/mine")) == "403 AccessDenied"


def test_writing_is_the_buckets_to_allow(s3: Caller) -> None:
    s3.put("sds", "a", b"data", x_amz_acl="public-read-write")
    assert code(s3.unsigned("PUT", "/sds/a", b"new")) == "403 AccessDenied"
    s3.put("sds", "a", b"data")
    s3.ask("PUT", "/sds?acl", headers={"x-amz-acl": "public-read-write"})
    assert s3.unsigned("PUT", "/sds/a", b"new").status == 200
    assert s3.get("sds", "a") == b"new"


def test_lists_are_read_back_as_written(s3: Caller) -> None:
    s3.ask("PUT", "/sds?acl", headers={"x-amz-acl": "public-read"})
    acl = s3.ask("GET", "/sds?acl")
    assert texts(acl, "Permission") == ["FULL_CONTROL", "READ"]
    s3.put("sds", "a")
    assert s3.ask("PUT", "/sds/a?acl", acl.body).status == 200
    assert s3.ask("GET", "/sds/a?acl").body == acl.body


def policy(effect: str, action: object, resource: object) -> bytes:
    statement = {"Effect": effect, "Principal": {"AWS": ["*"]}, "Action": action, "Resource": resource}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}).encode()


def test_policies_allow_and_deny(s3: Caller) -> None:
    s3.put("sds", "open/a", b"data")
    s3.put("sds", "shut", b"data")
    assert s3.refusal("GET", "/sds?policy") == "404 NoSuchBucketPolicy"
    text = policy("Allow", ["s3:Get*"], "arn:aws:s3:::sds/open/*")
    assert s3.ask("PUT", "/sds?policy", text).status == 204
    assert s3.ask("GET", "/sds?policy").body == text
    assert s3.unsigned("GET", "/sds/open/a").status == 200
    assert code(s3.unsigned("GET", "/sds/shut")) == code(s3.unsigned("PUT", "/sds/open/a")) == "403 AccessDenied"
    s3.ask("PUT", "/sds?policy", policy("Deny", "s3:*", "*"))
    assert s3.refusal("GET", "/sds/shut") == "403 AccessDenied"
    assert s3.ask("DELETE", "/sds?policy").status == 204
    assert s3.get("sds", "shut") == b"data"


def test_what_is_no_policy_is_refused(s3: Caller) -> None:
    for text in (policy("Perhaps", "s3:*", "*"), policy("Allow", 1, "*"), b'{"Statement":[]}', b'{"Statement":[1]}'):
        assert s3.refusal("PUT", "/sds?policy", text) == "400 MalformedPolicy"
    conditional = policy("Allow", "s3:*", "*").replace(b'"Action"', b'"Condition":{},"Action"')
    assert s3.refusal("PUT", "/sds?policy", conditional) == "501 NotImplemented"


def test_tags(s3: Caller) -> None:
    assert s3.refusal("GET", "/sds?tagging") == "404 NoSuchTagSet"
    body = "<Tagging><TagSet>{}</TagSet></Tagging>"
    tags = "".join(f"<Tag><Key>k{n}</Key><Value>v</Value></Tag>" for n in range(10))
    assert s3.ask("PUT", "/sds?tagging", body.format(tags).encode()).status == 204
    assert len(s3.texts("/sds?tagging", "Key")) == 10
    more = tags + "<Tag><Key>x</Key><Value/></Tag>"
    assert s3.refusal("PUT", "/sds?tagging", body.format(more).encode()) == "400 InvalidTag"
    assert s3.ask("DELETE", "/sds?tagging").status == 204
    assert s3.refusal("GET", "/sds?tagging") == "404 NoSuchTagSet"


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("cors", "404 NoSuchCORSConfiguration"),
        ("lifecycle", "404 NoSuchLifecycleConfiguration"),
        ("website", "404 NoSuchWebsiteConfiguration"),
        ("encryption", "404 ServerSideEncryptionConfigurationNotFoundError"),
        ("object-lock", "404 ObjectLockConfigurationNotFoundError"),
        ("replication", "501 NotImplemented"),
    ],
)
def test_what_no_bucket_has(s3: Caller, what: str, expected: str) -> None:
    assert s3.refusal("GET", f"/sds?{what}") == expected
    assert s3.ask("GET", "/sds?versioning").status == 200
