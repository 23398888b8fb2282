"""Signatures: AWS's own examples, and refused requests."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from email.utils import formatdate
from urllib.parse import parse_qsl

import pytest

from csm_emulator.seed_data import session_keys
from csm_emulator.services.s3.auth import signature_v2
from csm_emulator.services.s3.auth.authentication import LONGEST_URL, SKEW, SigningContext
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.objects.payload import read_payload
from csm_emulator.services.s3.requests import parse_request
from csm_emulator.site import Site
from csm_emulator.transport.call import Call
from csm_emulator.transport.sigv4 import (
    ALGORITHM,
    Keys,
    Request,
    encoded_path,
    presigned,
    scope_of,
    sign,
    signature,
    signed_headers,
    stamp,
)
from service_client import MOMENT
from services.s3.s3_caller import HOST, Caller, code, texts

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # noqa: S105 (of AWS's documentation)
WHEN, SCOPE = "20130524T000000Z", "20130524/us-east-1/s3/aws4_request"
EMPTY = hashlib.sha256(b"").hexdigest()
BUCKET = "examplebucket.s3.amazonaws.com"


@pytest.mark.parametrize(
    ("method", "target", "headers", "payload", "expected"),
    [
        (
            "GET",
            "/test.txt",
            {"range": "bytes=0-9"},
            EMPTY,
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT",
            "/test%24file.text",
            {"date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            hashlib.sha256(b"Welcome to Amazon S3.").hexdigest(),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        ("GET", "/?lifecycle", {}, EMPTY, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("GET", "/?max-keys=2&prefix=J", {}, EMPTY, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
        ("GET", "/?prefix=J&max-keys=2", {}, EMPTY, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)
def test_requests_are_signed_as_in_awss_examples(
    method: str, target: str, headers: dict[str, str], payload: str, expected: str
) -> None:
    path, _, query = target.partition("?")
    signed_headers = {"host": BUCKET, "x-amz-content-sha256": payload, "x-amz-date": WHEN, **headers}
    request = Request(method, path, tuple(parse_qsl(query, keep_blank_values=True)), signed_headers, payload)
    assert sign(request, sorted(signed_headers), SECRET, WHEN, SCOPE) == expected


@pytest.mark.parametrize(
    ("host", "path", "query", "date", "expected"),
    [
        (
            "johnsmith.rgw-vip",
            "/photos/puppy.jpg",
            "",
            "Tue, 27 Mar 2007 19:36:42 +0000",
            "bWq2s1WEIj+Ydj0vQ697zp+IXMU=",
        ),
        (
            "rgw-vip",
            "/johnsmith/photos/puppy.jpg",
            "",
            "Tue, 27 Mar 2007 19:36:42 +0000",
            "bWq2s1WEIj+Ydj0vQ697zp+IXMU=",
        ),
        ("rgw-vip", "/johnsmith", "prefix=photos", "Tue, 27 Mar 2007 19:42:41 +0000", "htDYFYduRNen8P9ZfE/s9SuKy0U="),
        ("johnsmith.rgw-vip", "/", "prefix=x", "Tue, 27 Mar 2007 19:42:41 +0000", "htDYFYduRNen8P9ZfE/s9SuKy0U="),
    ],
)
def test_requests_are_signed_as_in_awss_examples_of_version_2(
    host: str, path: str, query: str, date: str, expected: str
) -> None:
    headers = {"host": host, "date": date, "authorization": f"AWS AKIAIOSFODNN7EXAMPLE:{expected}"}
    request = parse_request(Call("GET", path, tuple(parse_qsl(query)), headers))
    claim = signature_v2.claim_of(request)
    assert claim is not None
    assert claim.access == "AKIAIOSFODNN7EXAMPLE"
    assert signature_v2.sign(request, claim, SECRET) == claim.signature


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (0, ""),
        (SKEW + 60, "403 RequestTimeTooSkewed"),
        (-SKEW - 60, "403 RequestTimeTooSkewed"),
        (None, "403 AccessDenied"),
    ],
)
def test_version_2_uses_real_time(s3: Caller, late: int | None, expected: str) -> None:
    date = "yesterday" if late is None else formatdate(time.time() - late, usegmt=True)
    request = parse_request(Call("GET", "/", (), {"host": HOST, "date": date}))
    claim = signature_v2.SignatureClaim(s3.keys.access, "", "", date, is_url=False)
    authorization = f"AWS {s3.keys.access}:{signature_v2.sign(request, claim, s3.keys.secret)}"
    reply = s3.unsigned("GET", "/", headers={"date": date, "authorization": authorization})
    assert ("" if reply.ok else code(reply)) == expected


def test_a_url_is_signed_as_in_awss_example() -> None:
    query = (
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        ("X-Amz-Credential", f"AKIAIOSFODNN7EXAMPLE/{SCOPE}"),
        ("X-Amz-Date", WHEN),
        ("X-Amz-Expires", "86400"),
        ("X-Amz-SignedHeaders", "host"),
        ("X-Amz-Signature", "is not looked at"),
    )
    request = Request("GET", "/test.txt", query, {"host": BUCKET}, "UNSIGNED-PAYLOAD")
    assert (
        sign(request, ["host"], SECRET, WHEN, SCOPE)
        == "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )


CHUNKS = (
    (b"a" * 65536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
    (b"a" * 1024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
    (b"", "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
)
SEAL = SigningContext(SECRET, WHEN, SCOPE, "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9")


def chunked(body: bytes, word: str = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", **headers: str) -> Call:
    request_headers = {
        "x-amz-content-sha256": word,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return Call("PUT", "/b/k", (), request_headers, body, target="/b/k")


def framed() -> Iterator[bytes]:
    for data, signed in CHUNKS:
        yield b"%x;chunk-signature=%s\r\n%s\r\n" % (len(data), signed.encode(), data)


def test_signed_chunks_are_read_as_in_awss_example() -> None:
    body = b"".join(framed())
    call = chunked(body, x_amz_decoded_content_length="66560")
    assert read_payload(parse_request(call), SEAL).data == b"a" * 66560


@pytest.mark.parametrize(
    ("spoiled", "code"),
    [
        (lambda body: body.replace(b"aaaa", b"aaab", 1), "SignatureDoesNotMatch"),
        (lambda body: body.replace(b"ad80", b"ad81", 1), "SignatureDoesNotMatch"),
        (lambda body: body[: body.index(b"400;")], "IncompleteBody"),
        (lambda body: body[: 65536 + 50], "SignatureDoesNotMatch"),
        (lambda body: b"zz\r\n" + body, "IncompleteBody"),
        (lambda body: body[:0], "IncompleteBody"),
    ],
)
def test_spoiled_chunks_are_refused(spoiled: object, code: str) -> None:
    body = spoiled(b"".join(framed()))  # type: ignore[operator]
    with pytest.raises(S3Error, match=code):
        read_payload(parse_request(chunked(body)), SEAL)


def test_what_stands_behind_signed_chunks_is_signed_too() -> None:
    word, data, line = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", b"hello", "x-amz-checksum-crc32:NhCmhg=="
    signatures, chain = [], SEAL.signature
    for piece in (data, b""):
        to_sign = f"{EMPTY}\n{hashlib.sha256(piece).hexdigest()}"
        chain = signature(SECRET, SCOPE, f"AWS4-HMAC-SHA256-PAYLOAD\n{WHEN}\n{SCOPE}\n{chain}\n{to_sign}")
        signatures.append(chain)
    digest = hashlib.sha256(f"{line}\n".encode()).hexdigest()
    last = signature(SECRET, SCOPE, f"AWS4-HMAC-SHA256-TRAILER\n{WHEN}\n{SCOPE}\n{chain}\n{digest}")
    body = f"5;chunk-signature={signatures[0]}\r\nhello\r\n0;chunk-signature={signatures[1]}\r\n{line}\r\n"
    sound = f"{body}x-amz-trailer-signature:{last}\r\n\r\n".encode()
    assert read_payload(parse_request(chunked(sound, word)), SEAL).checksums == {"crc32": "NhCmhg=="}
    with pytest.raises(S3Error, match="SignatureDoesNotMatch"):
        read_payload(parse_request(chunked(sound.replace(last.encode(), signatures[0].encode()), word)), SEAL)


def test_a_checksum_behind_unsigned_chunks_counts() -> None:
    word, body = "STREAMING-UNSIGNED-PAYLOAD-TRAILER", b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
    payload = read_payload(parse_request(chunked(body, word)), None)
    assert (payload.data, payload.checksums) == (b"hello", {"crc32": "NhCmhg=="})
    with pytest.raises(S3Error, match="BadDigest"):
        read_payload(parse_request(chunked(body.replace(b"hello", b"jello"), word)), None)
    with pytest.raises(S3Error, match="IncompleteBody"):
        read_payload(parse_request(chunked(body, word, x_amz_decoded_content_length="6")), None)


def test_a_wrong_signature_or_key_is_refused(s3: Caller) -> None:
    assert s3.ask("GET", "/").status == 200
    assert code(Caller(s3.site, Keys(s3.keys.access, "x")).ask("GET", "/")) == "403 SignatureDoesNotMatch"
    assert code(Caller(s3.site, Keys("missing", s3.keys.secret)).ask("GET", "/")) == "403 InvalidAccessKeyId"
    assert code(s3.ask("PUT", "/ims/a", b"data", payload=EMPTY)) == "400 XAmzContentSHA256Mismatch"
    assert s3.ask("PUT", "/ims/a", b"data", payload="UNSIGNED-PAYLOAD").status == 200


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ("AWS key:signature", "403 InvalidAccessKeyId"),
        ("AWS key", "400 InvalidArgument"),
        ("AWS4-HMAC-SHA256 nonsense", "400 InvalidArgument"),
        ("AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=x", "400 InvalidArgument"),
        ("AWS4-HMAC-SHA256 Credential=a/20130524/r/s3/aws4_request,SignedHeaders=host,Signature=x", "403 AccessDenied"),
        ("Bearer token", "400 InvalidRequest"),
    ],
)
def test_what_is_no_signature_is_refused(s3: Caller, authorization: str, expected: str) -> None:
    assert code(s3.unsigned("GET", "/", headers={"authorization": authorization})) == expected


def test_a_signature_is_good_by_either_clock_and_by_no_other(s3: Caller) -> None:
    now = time.time()
    for moment in (now, now - SKEW + 60, now + SKEW - 60, MOMENT, MOMENT - SKEW + 1):
        assert s3.ask("GET", "/", moment=moment).status == 200
    for moment in (now - SKEW - 60, now + SKEW + 60, MOMENT - SKEW - 60, 0):
        assert code(s3.ask("GET", "/", moment=moment)) == "403 RequestTimeTooSkewed"


def fetch(s3: Caller, method: str, path: str, moment: float, expires: int) -> tuple[int, bytes]:
    url = presigned(method, f"http://{HOST}{path}", s3.keys, moment, expires)
    reply = s3.unsigned(method, url.removeprefix(f"http://{HOST}"), b"new")
    return reply.status, reply.body


def test_urls_that_were_signed_beforehand_work_for_their_time(s3: Caller) -> None:
    s3.put("ims", "a b", b"data")
    path = encoded_path("/ims/a b")
    now = time.time()
    assert fetch(s3, "GET", path, MOMENT, 60) == fetch(s3, "GET", path, now - 50, 60) == (200, b"data")
    assert fetch(s3, "GET", path, now - 61, 60)[0] == fetch(s3, "GET", path, MOMENT - 60, 60)[0] == 403
    assert fetch(s3, "GET", path, MOMENT, LONGEST_URL + 1)[0] == 403
    assert fetch(s3, "PUT", "/ims/new", MOMENT, 60)[0] == 200
    assert s3.get("ims", "new") == b"new"


@pytest.mark.parametrize("name", ["x-amz-copy-source", "x-amz-acl", "x-amz-meta-a", "x-amz-security-token"])
def test_what_was_not_signed_does_not_count(s3: Caller, name: str) -> None:
    s3.put("ims", "secret", b"data")
    url = presigned("PUT", f"http://{HOST}/ims/mine", s3.keys, time.time(), 60).removeprefix(f"http://{HOST}")
    unsigned_headers = {name: "/ims/secret" if name.endswith("source") else "public-read"}
    reply = s3.unsigned("PUT", url, b"", unsigned_headers)
    assert code(reply) == "403 AccessDenied"
    assert texts(reply, "Message") == ["There were headers present in the request which were not signed"]
    headers = signed_headers(Request("PUT", "/ims/mine", (), {"host": HOST}, EMPTY), s3.keys, time.time())
    assert s3.unsigned("PUT", "/ims/mine", b"", headers).status == 200
    assert s3.unsigned("PUT", "/ims/mine", b"", headers | unsigned_headers).status == 403


def test_the_host_is_always_signed(s3: Caller) -> None:
    when = stamp(time.time())
    names = ["x-amz-content-sha256", "x-amz-date"]
    signed_headers = {"x-amz-content-sha256": EMPTY, "x-amz-date": when}
    signature = sign(Request("GET", "/", (), signed_headers, EMPTY), names, s3.keys.secret, when, scope_of(when))
    credential = f"{s3.keys.access}/{scope_of(when)}"
    signed_headers["authorization"] = (
        f"{ALGORITHM} Credential={credential}, SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    assert code(s3.unsigned("GET", "/", headers=signed_headers)) == "403 AccessDenied"


def test_the_hash_of_a_body_may_come_with_a_url(s3: Caller) -> None:
    """The signature covers the hash as the body's, and not as a header."""
    url = presigned("PUT", f"http://{HOST}/ims/mine", s3.keys, time.time(), 60).removeprefix(f"http://{HOST}")
    assert s3.unsigned("PUT", url, b"new", {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}).status == 200


def test_a_url_of_bss_dies_with_the_machines_time(s3: Caller) -> None:
    s3.put("ims", "a", b"data")
    url = presigned("GET", f"http://{HOST}/ims/a", s3.keys, MOMENT, 60).removeprefix(f"http://{HOST}")
    assert s3.unsigned("GET", url).status == 200
    assert (
        code(s3.unsigned("PUT", url))
        == code(s3.unsigned("GET", url.replace("ims/a", "ims/b")))
        == ("403 SignatureDoesNotMatch")
    )
    s3.site.step(61)
    assert code(s3.unsigned("GET", url)) == "403 AccessDenied"


def test_sessions_of_sts_are_let_in_until_they_expire(tiny: Site) -> None:
    session = session_keys.issue(tiny.random, 1, time.time())
    assert Caller(tiny, session.keys, session.token).ask("GET", "/").status == 200
    assert code(Caller(tiny, session.keys).ask("GET", "/")) == "403 InvalidAccessKeyId"
    later_session = session_keys.issue(tiny.random, 2, time.time())
    assert code(Caller(tiny, session.keys, later_session.token).ask("GET", "/")) == "403 InvalidAccessKeyId"
    for token in ("x", "====", "AAAA", session.token[:-8] + "AAAAAAAA"):
        assert code(Caller(tiny, session.keys, token).ask("GET", "/")) == "403 InvalidAccessKeyId"
    old = session_keys.issue(tiny.random, 3, time.time() - session_keys.LIFE - 1)
    assert code(Caller(tiny, old.keys, old.token).ask("GET", "/")) == "403 AccessDenied"
