from __future__ import annotations

import asyncio
import hashlib
import tracemalloc
from base64 import b64encode

import pytest

from csm_emulator.clients.s3 import S3Client, S3Unavailable
from csm_emulator.services.s3.objects.checksums import ALGORITHMS, checksum
from csm_emulator.services.s3.objects.read import LARGEST_UNSTREAMED
from service_client import GARBAGE
from services.s3.s3_caller import Caller, code, header, texts, whole

ODD = ("a b", "ü/ß", "+", "%", "a%2Fb", "?x=1", "#", "~'()*!", "a//b/", ".", "..", "a/../b", "\U0001f600", "\\", '&<>"')


@pytest.mark.parametrize("key", ODD)
def test_what_is_put_is_got_under_any_name(s3: Caller, key: str) -> None:
    etag = s3.put("sds", key, key.encode())
    assert etag == hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()
    assert s3.get("sds", key) == key.encode()
    assert s3.texts("/sds", "Key") == s3.texts("/sds?list-type=2", "Key") == [key]


def test_metadata_of_an_object_come_back(s3: Caller) -> None:
    s3.put(
        "sds",
        "a",
        b"text",
        content_type="text/x-own",
        content_encoding="gzip, aws-chunked",
        cache_control="no-store",
        x_amz_meta_who="me",
        x_amz_tagging="one=1&two=",
    )
    for method in ("GET", "HEAD"):
        reply = s3.ask(method, "/sds/a")
        assert (reply.status, reply.media) == (200, "text/x-own")
        headers_read = [
            header(reply, name)
            for name in ("content-encoding", "cache-control", "x-amz-meta-who", "x-amz-tagging-count")
        ]
        assert headers_read == ["gzip", "no-store", "me", "2"]
    assert header(s3.ask("HEAD", "/sds/a"), "Content-Length") == "4"
    assert s3.texts("/sds/a?tagging", "Key") == ["one", "two"]
    s3.put("sds", "a", b"other")
    reply = s3.ask("GET", "/sds/a")
    assert (reply.body, reply.media, header(reply, "x-amz-meta-who")) == (b"other", "binary/octet-stream", "")


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("gzip, aws-chunked", "gzip"),
        ("AWS-Chunked ,gzip", "gzip"),
        ("gzip, aws-chunked, br", "gzip, br"),
        ("aws-chunked", ""),
        ("gzip" + " " * 10_000 + "x", "gzip" + " " * 10_000 + "x"),
    ],
)
def test_how_a_body_came_is_not_kept(s3: Caller, encoding: str, expected: str) -> None:
    s3.put("sds", "a", b"text", content_encoding=encoding)
    assert header(s3.ask("GET", "/sds/a"), "content-encoding") == expected


def test_the_caller_may_choose_headers_when_it_is_known(s3: Caller) -> None:
    s3.put("sds", "a", b"text", x_amz_acl="public-read")
    target = "/sds/a?response-content-type=text%2Fodd&response-content-disposition=attachment"
    reply = s3.ask("GET", target)
    assert (reply.media, header(reply, "content-disposition")) == ("text/odd", "attachment")
    assert s3.unsigned("GET", "/sds/a").status == 200
    assert code(s3.unsigned("GET", target)) == "400 InvalidRequest"
    for odd in ("a%0d%0ab", "%F0%9F%98%80"):
        assert s3.refusal("GET", f"/sds/a?response-content-type={odd}") == "400 InvalidArgument"


@pytest.mark.parametrize(
    ("range_header", "expected"),
    [
        ("bytes=0-3", (206, b"0123", "bytes 0-3/10")),
        ("bytes=7-", (206, b"789", "bytes 7-9/10")),
        ("bytes=-4", (206, b"6789", "bytes 6-9/10")),
        ("bytes=-99", (206, b"0123456789", "bytes 0-9/10")),
        ("bytes=8-99", (206, b"89", "bytes 8-9/10")),
        ("bytes=5-4", (200, b"0123456789", "")),
        ("bytes=-", (200, b"0123456789", "")),
        ("lines=1-2", (200, b"0123456789", "")),
        ("bytes=0-1,3-4", (200, b"0123456789", "")),
    ],
)
def test_ranges(s3: Caller, range_header: str, expected: tuple[int, bytes, str]) -> None:
    s3.put("sds", "a", b"0123456789")
    reply = s3.ask("GET", "/sds/a", headers={"range": range_header})
    assert (reply.status, reply.body, header(reply, "content-range")) == expected


def test_ranges_outside_of_the_object_are_refused(s3: Caller) -> None:
    s3.put("sds", "a", b"0123456789")
    s3.put("sds", "empty")
    for target, range_header in (("/sds/a", "bytes=10-"), ("/sds/a", "bytes=-0"), ("/sds/empty", "bytes=0-0")):
        assert s3.refusal("GET", target, headers={"range": range_header}) == "416 InvalidRange"


def test_if_range_compares_the_etag(s3: Caller) -> None:
    etag = s3.put("sds", "a", b"0123456789")
    for condition, status in ((f'"{etag}"', 206), ('"other"', 200)):
        assert s3.ask("GET", "/sds/a", headers={"range": "bytes=0-1", "if-range": condition}).status == status


def test_conditions(s3: Caller) -> None:
    etag = s3.put("sds", "a", b"data")
    modified = header(s3.ask("HEAD", "/sds/a"), "last-modified")
    date_before, other_etag = "Sat, 01 Jan 2000 00:00:00 GMT", '"other"'

    def status(method: str = "GET", **headers: str) -> int:
        request_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return s3.ask(method, "/sds/a", b"data" if method == "PUT" else b"", request_headers).status

    assert status(if_match=f'"{etag}"') == status(if_match=etag) == status(if_match="*") == 200
    assert status(if_match=other_etag) == status(if_unmodified_since=date_before) == 412
    assert status(if_none_match=f'"x", "{etag}"') == status(if_modified_since=modified) == 304
    assert status(if_none_match=other_etag, if_modified_since=modified) == status(if_modified_since=date_before) == 200
    assert status(if_match=etag, if_unmodified_since=date_before) == 200
    assert status(if_modified_since="nonsense") == 200
    assert status("PUT", if_none_match="*") == status("PUT", if_match=other_etag) == 412
    assert status("PUT", if_match=etag) == 200
    assert s3.ask("PUT", "/sds/new", b"", {"if-none-match": "*"}).status == 200
    assert s3.refusal("PUT", "/sds/newer", b"", {"if-match": "*"}) == "404 NoSuchKey"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_checksums_are_looked_at_and_kept(s3: Caller, algorithm: str) -> None:
    data, name = bytes(range(256)) * 20, f"x-amz-checksum-{algorithm}"
    checksum_value = checksum(algorithm, data)
    assert header(s3.ask("PUT", "/sds/a", data, {name: checksum_value}), name) == checksum_value
    assert s3.refusal("PUT", "/sds/a", data + b"x", {name: checksum_value}) == "400 BadDigest"
    assert header(s3.ask("HEAD", "/sds/a", headers={"x-amz-checksum-mode": "ENABLED"}), name) == checksum_value
    assert header(s3.ask("HEAD", "/sds/a"), name) == ""
    assert s3.get("sds", "a") == data


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("crc32", 0xCBF43926),
        ("crc32c", 0xE3069283),
        ("crc64nvme", 0xAE8B14860A799888),
    ],
)
def test_checksums_are_those_of_the_catalogue_of_crcs(algorithm: str, expected: int) -> None:
    size = 8 if algorithm == "crc64nvme" else 4
    assert checksum(algorithm, b"123456789") == b64encode(expected.to_bytes(size, "big")).decode()


def test_md5_is_looked_at(s3: Caller) -> None:
    sound = b64encode(hashlib.md5(b"data", usedforsecurity=False).digest()).decode()
    assert s3.ask("PUT", "/sds/a", b"data", {"content-md5": sound}).status == 200
    assert s3.refusal("PUT", "/sds/b", b"other", {"content-md5": sound}) == "400 BadDigest"
    assert s3.refusal("PUT", "/sds/b", b"other", {"content-md5": "nonsense"}) == "400 InvalidDigest"
    assert s3.refusal("GET", "/sds/b") == "404 NoSuchKey"


def test_copies(s3: Caller) -> None:
    etag = s3.put("sds", "a b", b"data", content_type="text/x-own", x_amz_meta_who="me", x_amz_tagging="k=v")
    source = {"x-amz-copy-source": "/sds/a%20b"}
    assert texts(s3.ask("PUT", "/ims/copy", headers=source), "ETag") == [f'"{etag}"']
    reply = s3.ask("GET", "/ims/copy")
    assert (reply.body, reply.media, header(reply, "x-amz-meta-who")) == (b"data", "text/x-own", "me")
    assert s3.refusal("PUT", "/sds/a%20b", headers=source) == "400 InvalidRequest"
    replaced = {**source, "x-amz-metadata-directive": "REPLACE", "x-amz-meta-who": "you"}
    assert s3.ask("PUT", "/sds/a%20b", headers=replaced).status == 200
    assert header(s3.ask("HEAD", "/sds/a%20b"), "x-amz-meta-who") == "you"
    s3.ask("DELETE", "/ims/copy")
    assert s3.get("sds", "a b") == b"data"
    assert s3.texts("/sds/a%20b?tagging", "Value") == ["v"]
    failing = {**source, "x-amz-copy-source-if-none-match": etag}
    assert s3.refusal("PUT", "/ims/copy", headers=failing) == "412 PreconditionFailed"
    for wrong, expected in (("sds", "400 InvalidArgument"), ("sds/x", "404 NoSuchKey"), ("x/x", "404 NoSuchBucket")):
        assert s3.refusal("PUT", "/ims/copy", headers={"x-amz-copy-source": wrong}) == expected


def test_names_have_a_longest(s3: Caller) -> None:
    s3.put("sds", "é" * 512, b"data")
    assert s3.get("sds", "é" * 512) == b"data"
    assert s3.refusal("PUT", f"/sds/{'x' * 1025}", b"data") == "400 InvalidObjectName"


def test_deleting_is_the_same_whether_it_is_there(s3: Caller) -> None:
    s3.put("sds", "a")
    assert s3.ask("DELETE", "/sds/a").status == s3.ask("DELETE", "/sds/a").status == 204
    assert s3.refusal("GET", "/sds/a") == "404 NoSuchKey"
    assert s3.refusal("DELETE", "/none/a") == "404 NoSuchBucket"


def test_many_are_deleted_at_once(s3: Caller) -> None:
    for key in ("a", " b ", "c"):
        s3.put("sds", key)
    objects = "".join(f"<Object><Key>{key}</Key></Object>" for key in ("a", " b ", "none"))
    reply = s3.ask("POST", "/sds?delete", f"<Delete>{objects}</Delete>".encode())
    assert texts(reply, "Key") == ["a", " b ", "none"]
    assert s3.texts("/sds", "Key") == ["c"]
    grown = b'<!DOCTYPE Delete [<!ENTITY e "c">]><Delete><Object><Key>&e;</Key></Object></Delete>'
    for encoding in ("utf-8", "utf-16", "utf-16-be"):
        assert s3.refusal("POST", "/sds?delete", grown.decode().encode(encoding)) == "400 MalformedXML"
    deep = b"<Delete><Object><Key>c</Key>" + b"<x>" * 15 + b"</x>" * 15 + b"</Object></Delete>"
    assert s3.refusal("POST", "/sds?delete", deep) == "400 MalformedXML"
    quiet = b"<Delete><Quiet>true</Quiet><Object><Key>c</Key></Object></Delete>"
    assert texts(s3.ask("POST", "/sds?delete", quiet), "Key") == []
    assert s3.texts("/sds", "Key") == []


def test_large_objects_come_in_pieces(s3: Caller) -> None:
    data = bytes(range(251)) * (LARGEST_UNSTREAMED // 200)
    s3.put("sds", "large", data)
    reply = s3.ask("GET", "/sds/large")
    assert (reply.body, header(reply, "content-length")) == (b"", str(len(data)))
    assert whole(reply) == data
    part = s3.ask("GET", "/sds/large", headers={"range": "bytes=5-4194400"})
    assert whole(part) == data[5:4194401]


def test_services_inside_keep_bytes_here(s3: Caller) -> None:
    client = S3Client(s3.site.mesh, s3.keys)
    data = bytes(range(251)) * (9 << 12)
    etag = client.put("ims", "ü b", data, "text/x-own")
    assert client.get("ims", "ü b") == data
    assert client.head("ims", "ü b") == {"size": len(data), "etag": etag}
    assert s3.ask("HEAD", "/ims/%C3%BC%20b").media == "text/x-own"
    client.put("ims", "empty", b"")
    assert client.get("ims", "empty") == b""
    client.delete("ims", "ü b")
    assert client.get("ims", "ü b") is None
    assert client.head("ims", "ü b") is None
    with pytest.raises(S3Unavailable):
        client.put("none", "a", b"")


@pytest.mark.parametrize(
    "target", ["/sds?delete", "/sds?policy", "/sds?acl", "/sds?tagging", "/sds/a?tagging", "/sds/a?acl", "/new-one"]
)
def test_garbage_is_refused(s3: Caller, target: str) -> None:
    s3.put("sds", "a")
    method = "POST" if target.endswith("delete") else "PUT"
    bomb = b'<!DOCTYPE a [<!ENTITY b "c">]><Delete>&b;</Delete>'
    for body in (
        *GARBAGE[1:],
        bomb,
        b"<a/>",
        b"<Tagging><TagSet><Tag/></TagSet></Tagging>",
        b"<?xml encoding='x'?><a/>",
    ):
        reply = s3.ask(method, target, body)
        assert code(reply).startswith("400 "), reply


def test_what_no_server_has_is_refused(s3: Caller) -> None:
    assert s3.refusal("GET", "/sds/%ff%fe") == "400 InvalidObjectName"
    assert s3.refusal("PUT", "/sds/" + "a" * 1025) == "400 InvalidObjectName"
    assert s3.refusal("POST", "/sds/a") == "405 MethodNotAllowed"
    assert s3.refusal("PATCH", "/sds/a") == "405 MethodNotAllowed"
    assert s3.refusal("PUT", "/sds?versioning") == "501 NotImplemented"
    assert s3.refusal("GET", "/sds/a?torrent") == "501 NotImplemented"
    assert s3.refusal("PUT", "/sds/a", headers={"x-amz-server-side-encryption": "AES256"}) == "501 NotImplemented"
    assert s3.refusal("PUT", "/sds/a", headers={"x-amz-storage-class": "GLACIER"}) == "400 InvalidStorageClass"
    assert s3.refusal("GET", "/sds/a?versionId=x") == "404 NoSuchVersion"


def test_readers_hold_little_and_read_to_the_end_what_is_replaced_meanwhile(s3: Caller) -> None:
    first, second = (bytes([number]) * (12 << 20) for number in (1, 2))
    s3.put("sds", "a", first)
    s3.site.save()

    async def story() -> None:
        replies = [s3.ask("GET", "/sds/a") for _ in range(8)]
        streams = [reply.stream() for reply in replies if reply.stream]
        tracemalloc.start()
        first_pieces = [[await anext(stream)] for stream in streams]
        assert tracemalloc.get_traced_memory()[0] < len(streams) * 6 << 20
        tracemalloc.stop()
        s3.put("sds", "a", second)
        await streams.pop().aclose()
        for stream, pieces in zip(streams, first_pieces, strict=False):
            pieces += [piece async for piece in stream]
            assert b"".join(pieces) == first
        assert len(streams) == 7

    asyncio.run(story())
    assert s3.get("sds", "a") == second
    s3.site.save()
    blob_count = s3.site.state_file._connection.execute("SELECT count(*) FROM blobs WHERE key LIKE 's3/%'").fetchone()
    assert blob_count == (1,), "what was replaced goes with its last reader"
