"""boto3 from PyPI against the site's S3."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError

from csm_emulator.process import Emulator, emulate

LARGE = bytes(range(256)) * (20 << 12)
"""20 MiB: three parts."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Emulator]:
    with emulate("tiny") as running:
        yield running


def _credentials(machine: Emulator) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {machine.token()}"}
    answer = machine.send("PUT", f"{machine.url}/apis/sts/token", None, headers)
    assert answer.status == 201
    return dict(answer.json()["Credentials"])


def _client(machine: Emulator, signature: str | None = None, **changed: str) -> Any:
    credentials = _credentials(machine) | changed
    return boto3.client(
        "s3",
        endpoint_url=credentials["EndpointURL"],
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
        region_name="default",
        verify=machine.ca,
        config=Config(signature_version=signature, retries={"max_attempts": 0}, s3={"addressing_style": "path"}),
    )


@pytest.fixture(scope="module")
def s3(machine: Emulator) -> Any:
    return _client(machine)


def test_images_that_the_site_has(s3: Any) -> None:
    assert "boot-images" in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="boot-images")
    keys = [one["Key"] for page in pages for one in page["Contents"]]
    manifest = next(key for key in keys if key.endswith("manifest.json"))
    manifest_body = json.loads(s3.get_object(Bucket="boot-images", Key=manifest)["Body"].read())
    for artefact in manifest_body["artifacts"]:
        key = artefact["link"]["path"].removeprefix("s3://boot-images/")
        body = s3.get_object(Bucket="boot-images", Key=key)["Body"].read()
        assert hashlib.md5(body).hexdigest() == artefact["md5"]  # noqa: S324 (what manifests have)


def test_a_large_file_goes_up_and_comes_down_in_parts(s3: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "rootfs", tmp_path / "back"
    source.write_bytes(LARGE)
    parts = TransferConfig(multipart_threshold=8 << 20, multipart_chunksize=8 << 20)
    s3.upload_file(str(source), "boot-images", "mine/rootfs", Config=parts, ExtraArgs={"Metadata": {"of": "me"}})
    head = s3.head_object(Bucket="boot-images", Key="mine/rootfs")
    assert head["ContentLength"] == len(LARGE)
    assert head["Metadata"] == {"of": "me"}
    assert head["ETag"].strip('"').endswith("-3")
    s3.download_file("boot-images", "mine/rootfs", str(target), Config=parts)
    assert target.read_bytes() == LARGE


def test_ranges_and_checksums(s3: Any) -> None:
    s3.put_object(Bucket="boot-images", Key="mine/small", Body=b"0123456789", ChecksumAlgorithm="SHA256")
    part = s3.get_object(Bucket="boot-images", Key="mine/small", Range="bytes=2-4")
    assert part["Body"].read() == b"234"
    assert part["ContentRange"] == "bytes 2-4/10"
    head = s3.head_object(Bucket="boot-images", Key="mine/small", ChecksumMode="ENABLED")
    assert head["ChecksumSHA256"] == b64encode(hashlib.sha256(b"0123456789").digest()).decode()
    with pytest.raises(ClientError, match=r"BadDigest|InvalidDigest|XAmzContentChecksumMismatch"):
        s3.put_object(Bucket="boot-images", Key="mine/bad", Body=b"x", ChecksumCRC32="AAAAAA==")
    assert not s3.list_objects_v2(Bucket="boot-images", Prefix="mine/bad")["KeyCount"]


def test_an_address_that_is_signed_works_without_credentials(machine: Emulator, s3: Any) -> None:
    s3.put_object(Bucket="boot-images", Key="mine/signed", Body=b"for a while")
    address = s3.generate_presigned_url("get_object", {"Bucket": "boot-images", "Key": "mine/signed"}, ExpiresIn=60)
    assert machine.send("GET", address).body == b"for a while"
    assert machine.send("GET", address.replace("mine/signed", "mine/other")).status == 403
    place = s3.generate_presigned_url("put_object", {"Bucket": "boot-images", "Key": "mine/put"}, ExpiresIn=60)
    assert machine.send("PUT", place, "hello").status == 200
    assert s3.get_object(Bucket="boot-images", Key="mine/put")["Body"].read() == b"hello"


def test_signatures_of_version_2(machine: Emulator) -> None:
    """Version 2 is what boto3 uses for URLs when no region is set."""
    old = _client(machine, "s3")
    old.put_object(Bucket="boot-images", Key="mine/ö d", Body=b"old", ContentType="text/plain", Metadata={"a": "b"})
    assert old.list_objects_v2(Bucket="boot-images", Prefix="mine/ö")["KeyCount"] == 1
    old.upload_fileobj(BytesIO(LARGE), "boot-images", "mine/old-parts", Config=TransferConfig(8 << 20))
    assert old.head_object(Bucket="boot-images", Key="mine/old-parts")["ContentLength"] == len(LARGE)
    parameters = {"Bucket": "boot-images", "Key": "mine/ö d", "ResponseContentType": "text/x"}
    address = old.generate_presigned_url("get_object", parameters, ExpiresIn=60)
    assert "AWSAccessKeyId=" in address
    answer = machine.send("GET", address)
    assert (answer.body, answer.headers["content-type"]) == (b"old", "text/x")
    assert machine.send("PUT", address, "x").status == 403
    assert machine.send("GET", address.replace("text%2Fx", "text%2Fy")).status == 403
    assert machine.send("GET", re.sub(r"Expires=\d+", f"Expires={2**33}", address)).status == 403
    expired_url = old.generate_presigned_url("get_object", parameters, ExpiresIn=-1)
    assert b"Request has expired" in machine.send("GET", expired_url).body
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        _client(machine, "s3", SecretAccessKey="wrong").list_buckets()


def test_who_has_no_key_gets_nothing(machine: Emulator) -> None:
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        _client(machine, SecretAccessKey="wrong").list_buckets()
    with pytest.raises(ClientError, match=r"InvalidAccessKeyId|InvalidToken|InvalidClientTokenId"):
        _client(machine, AccessKeyId="UNKNOWN").list_buckets()


def test_copies_and_deletes(s3: Any) -> None:
    s3.put_object(Bucket="boot-images", Key="mine/one", Body=b"1")
    s3.copy_object(Bucket="boot-images", Key="mine/two", CopySource="boot-images/mine/one")
    deletion = s3.delete_objects(Bucket="boot-images", Delete={"Objects": [{"Key": "mine/one"}, {"Key": "mine/none"}]})
    assert len(deletion["Deleted"]) == 2
    assert s3.get_object(Bucket="boot-images", Key="mine/two")["Body"].read() == b"1"
    with pytest.raises(ClientError, match="NoSuchKey"):
        s3.get_object(Bucket="boot-images", Key="mine/one")


def test_an_upload_that_is_cut_leaves_nothing(machine: Emulator, s3: Any) -> None:
    machine.fault("upload-cut", "boot-images", remaining=1)
    with pytest.raises((ConnectionClosedError, EndpointConnectionError)):
        s3.upload_fileobj(BytesIO(b"half"), "boot-images", "mine/cut")
    assert not s3.list_objects_v2(Bucket="boot-images", Prefix="mine/cut")["KeyCount"]
    s3.upload_fileobj(BytesIO(b"whole"), "boot-images", "mine/cut")
    assert s3.get_object(Bucket="boot-images", Key="mine/cut")["Body"].read() == b"whole"
