from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from csm_emulator.machine.faults.faults import Fault
from csm_emulator.services.s3.objects.checksums import checksum
from csm_emulator.services.s3.uploads.api import LEAST_PART
from service_client import open_site, reopen
from services.s3.s3_caller import Caller, code, header, texts

FIRST, LAST = b"1" * LEAST_PART, b"2" * 1000


class Upload:
    def __init__(self, s3: Caller, key: str = "large", **headers: str) -> None:
        self.s3 = s3
        self.path = f"/sds/{key}"
        request_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.id = texts(s3.ask("POST", f"{self.path}?uploads", headers=request_headers), "UploadId")[0]
        self.target = f"{self.path}?uploadId={self.id}"

    def put(self, number: int, data: bytes, **headers: str) -> str:
        request_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        reply = self.s3.ask("PUT", f"{self.target}&partNumber={number}", data, request_headers)
        assert reply.status == 200, reply.body
        return header(reply, "ETag") or texts(reply, "ETag")[0]

    def complete(self, *parts: tuple[int, str], headers: dict[str, str] | None = None) -> str:
        """The object's ETag, or the code of the refusal."""
        parts_xml = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>" for number, etag in parts
        )
        body = f"<CompleteMultipartUpload>{parts_xml}</CompleteMultipartUpload>".encode()
        reply = self.s3.ask("POST", self.target, body, headers)
        return texts(reply, "ETag")[0] if reply.ok else code(reply)


def test_parts_become_an_object_in_the_order_of_their_numbers(s3: Caller) -> None:
    upload = Upload(s3, content_type="text/x-own", x_amz_meta_who="me")
    last, first = upload.put(9, LAST), upload.put(2, FIRST)
    assert s3.refusal("GET", "/sds/large") == "404 NoSuchKey"
    assert s3.texts(upload.target, "PartNumber") == ["2", "9"]
    assert s3.texts("/sds?uploads", "UploadId") == [upload.id]
    digests = [hashlib.md5(part, usedforsecurity=False).digest() for part in (FIRST, LAST)]
    etag = f'"{hashlib.md5(b"".join(digests), usedforsecurity=False).hexdigest()}-2"'
    assert upload.complete((2, first), (9, last)) == etag
    assert s3.get("sds", "large") == FIRST + LAST
    reply = s3.ask("HEAD", "/sds/large")
    assert (reply.media, header(reply, "x-amz-meta-who"), header(reply, "etag")) == ("text/x-own", "me", etag)
    span = f"bytes={LEAST_PART - 2}-{LEAST_PART + 1}"
    assert s3.ask("GET", "/sds/large", headers={"range": span}).body == b"1122"
    assert s3.ask("GET", "/sds/large?partNumber=2").body == LAST
    for number in ("3", "0", "x", "100000"):
        assert s3.refusal("GET", f"/sds/large?partNumber={number}") == "400 InvalidPart"
    assert s3.texts("/sds?uploads", "UploadId") == []
    assert s3.refusal("GET", upload.target) == "404 NoSuchUpload"


def test_what_does_not_fit_is_refused_and_may_be_tried_again(s3: Caller) -> None:
    upload = Upload(s3)
    small, large, last = upload.put(1, b"x"), upload.put(2, FIRST), upload.put(3, LAST)
    assert upload.complete((1, small), (2, large)) == "400 EntityTooSmall"
    assert upload.complete((3, last), (2, large)) == upload.complete((2, large), (2, large)) == "400 InvalidPartOrder"
    assert upload.complete((2, small)) == upload.complete((2, large), (4, last)) == "400 InvalidPart"
    assert upload.complete() == "400 MalformedXML"
    assert upload.complete((0, large)) == upload.complete((10_001, large)) == "400 InvalidArgument"
    assert s3.refusal("PUT", f"{upload.target}&partNumber=0", b"") == "400 InvalidArgument"
    assert upload.complete((2, large), (3, last)).endswith('-2"')
    assert s3.get("sds", "large") == FIRST + LAST


def test_a_part_can_be_sent_again(s3: Caller) -> None:
    upload = Upload(s3)
    old, new = upload.put(1, b"old"), upload.put(1, b"new")
    assert upload.complete((1, old)) == "400 InvalidPart"
    upload.complete((1, new))
    assert s3.get("sds", "large") == b"new"


def test_an_upload_is_of_one_object(s3: Caller) -> None:
    upload = Upload(s3)
    assert s3.refusal("PUT", f"/sds/other?uploadId={upload.id}&partNumber=1", b"") == "404 NoSuchUpload"
    assert s3.refusal("PUT", f"/ims/large?uploadId={upload.id}&partNumber=1", b"") == "404 NoSuchUpload"


def test_an_aborted_upload_leaves_nothing(s3: Caller) -> None:
    upload = Upload(s3)
    upload.put(1, b"data")
    s3.site.save()
    assert s3.site.state_file.blob("s3/1") == b"data"
    assert s3.ask("DELETE", upload.target).status == 204
    assert s3.refusal("DELETE", upload.target) == "404 NoSuchUpload"
    s3.site.save()
    assert s3.site.state_file.blob("s3/1") is None


def test_a_bucket_takes_along_what_was_on_its_way(s3: Caller) -> None:
    s3.ask("PUT", "/mine")
    upload = texts(s3.ask("POST", "/mine/a?uploads"), "UploadId")[0]
    second_upload = Upload(s3)
    assert s3.ask("PUT", f"/mine/a?uploadId={upload}&partNumber=1", b"mine").status == 200
    second_upload.put(1, b"other")
    assert s3.ask("DELETE", "/mine").status == 204
    s3.ask("PUT", "/mine")
    assert s3.refusal("GET", f"/mine/a?uploadId={upload}") == "404 NoSuchUpload"
    s3.site.save()
    assert [s3.site.state_file.blob(f"s3/{number}") for number in (1, 2)] == [None, b"other"]


def test_parts_that_were_not_named_are_gone(s3: Caller) -> None:
    upload = Upload(s3)
    upload.put(1, b"unused")
    upload.complete((2, upload.put(2, b"used")))
    s3.site.save()
    assert [s3.site.state_file.blob(f"s3/{number}") for number in (1, 2)] == [None, b"used"]


def test_a_part_that_is_cut_is_not_kept(s3: Caller) -> None:
    upload = Upload(s3)
    s3.site.set_fault(Fault("f", "upload-cut", "*", remaining=1))
    assert s3.ask("PUT", f"{upload.target}&partNumber=1", b"data").status == 503
    assert s3.texts(upload.target, "PartNumber") == []
    assert upload.complete((1, upload.put(1, b"data"))).endswith('-1"')


def test_parts_may_be_copies(s3: Caller) -> None:
    s3.put("ims", "source", FIRST + LAST)
    upload = Upload(s3)
    span = {"x_amz_copy_source": "ims/source", "x_amz_copy_source_range": f"bytes={LEAST_PART - 3}-{LEAST_PART}"}
    upload.complete((1, upload.put(1, b"", **span)))
    assert s3.get("sds", "large") == b"1112"


@pytest.mark.parametrize("kind", ["FULL_OBJECT", "COMPOSITE"])
def test_the_whole_has_a_checksum_too(s3: Caller, kind: str) -> None:
    upload = Upload(s3, x_amz_checksum_algorithm="CRC32C", x_amz_checksum_type=kind)
    parts = [
        (number, upload.put(number, part, x_amz_checksum_crc32c=checksum("crc32c", part)))
        for number, part in enumerate((FIRST, LAST), 1)
    ]
    assert upload.complete(*parts, headers={"x-amz-checksum-crc32c": "AAAA"}) == "400 BadDigest"
    upload.complete(*parts)
    whole_checksum = header(
        s3.ask("HEAD", "/sds/large", headers={"x-amz-checksum-mode": "ENABLED"}), "x-amz-checksum-crc32c"
    )
    assert (whole_checksum == checksum("crc32c", FIRST + LAST)) == (kind == "FULL_OBJECT")
    assert whole_checksum.endswith("-2") == (kind == "COMPOSITE")


def test_the_whole_has_no_checksum_when_a_part_has_none(s3: Caller) -> None:
    upload = Upload(s3, x_amz_checksum_algorithm="CRC32C")
    first = upload.put(1, FIRST, x_amz_checksum_crc32c=checksum("crc32c", FIRST))
    assert upload.complete((1, first), (2, upload.put(2, LAST))).endswith('-2"')
    head = s3.ask("HEAD", "/sds/large", headers={"x-amz-checksum-mode": "ENABLED"})
    assert header(head, "x-amz-checksum-crc32c") == ""


def test_pages_of_parts_and_uploads(s3: Caller) -> None:
    upload = Upload(s3)
    for number in (1, 2, 3):
        upload.put(number, b"")
    first = s3.ask("GET", f"{upload.target}&max-parts=2")
    assert (texts(first, "PartNumber"), texts(first, "IsTruncated")) == (["1", "2"], ["true"])
    assert s3.texts(f"{upload.target}&part-number-marker=2", "PartNumber") == ["3"]
    uploads = [Upload(s3, key) for key in ("a/1", "a/2", "b")]
    page = s3.ask("GET", "/sds?uploads&prefix=a/&max-uploads=1")
    assert (texts(page, "Key"), texts(page, "IsTruncated")) == (["a/1"], ["true"])
    marker = f"key-marker=a/1&upload-id-marker={uploads[0].id}"
    assert s3.texts(f"/sds?uploads&prefix=a/&{marker}", "Key") == ["a/2"]


def test_an_upload_goes_on_after_a_restart(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    upload = Upload(Caller(site))
    first = upload.put(1, FIRST)
    upload.s3 = Caller(reopen(site))
    assert upload.s3.texts(upload.target, "PartNumber") == ["1"]
    upload.complete((1, first), (2, upload.put(2, LAST)))
    assert upload.s3.get("sds", "large") == FIRST + LAST
    upload.s3.site.state_file.close()
