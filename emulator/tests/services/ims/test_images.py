"""Images: their records, their links, and the effect of a deletion on their files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from csm_emulator.seed_data import images as furniture
from csm_emulator.seed_data.images import ROOTFS
from services.ims.ims_client import Ims, sum_of

MISSING = "Missing data for required field."
UNKNOWN = "Requested resource does not exist. Re-run request with valid ID."
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


def new(ims: Ims, **more: Any) -> dict[str, Any]:
    return dict(ims.do("POST", "/v3/images", {"name": "mine", **more}, 201))


def test_the_first_day(ims: Ims) -> None:
    context = ims.site.context
    seeds = furniture.images(context.machine.topology, context.random)
    assert [image["id"] for image in ims.get("/v3/images")] == [seed.id for seed in seeds]
    for seed in seeds:
        image = ims.get(f"/v2/images/{seed.id}")
        assert (image["name"], image["arch"], image["link"]) == (seed.name, seed.arch, seed.link)
        assert sum_of(ims.object(seed.link["path"])) == seed.link["etag"]


def test_read_back(ims: Ims) -> None:
    image = new(ims, arch="aarch64", metadata={"a": "b", "ü": "\ud800"})
    assert image["created"] == "2027-01-15T08:00:00"
    assert image == ims.get(f"/v3/images/{image['id']}") == ims.get(f"/images/{image['id']}")
    assert (image["link"], image["arch"], image["metadata"]) == (None, "aarch64", {"a": "b", "ü": "\ud800"})
    assert image in ims.again().get("/v2/images")


def test_an_annotation_as_the_command_line_gives_it(ims: Ims) -> None:
    assert new(ims, metadata={"key": "project", "value": "x"})["metadata"] == {"project": "x"}
    assert new(ims, metadata={"key": "project"})["metadata"] == {"project": ""}


def test_annotations_are_set_and_removed(ims: Ims) -> None:
    path = f"/v3/images/{new(ims)['id']}"

    def patch(operation: str, **more: str) -> Any:
        return ims.do("PATCH", path, {"metadata": {"operation": operation, **more}})["metadata"]

    assert patch("set", key="a", value="1") == {"a": "1"}
    assert patch("set", key="b") == {"a": "1", "b": ""}
    assert patch("set", key="a", value="2") == {"a": "2", "b": ""}
    assert patch("remove", key="a") == {"b": ""}
    assert patch("remove", key="a") == {"b": ""}
    assert ims.get(path)["metadata"] == {"b": ""}


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"x": 1}, {"name": ["Missing data for required field."], "x": ["Unknown field."]}),
        ({"name": ""}, {"name": ["name field must not be blank"]}),
        ({"name": None}, {"name": ["Field may not be null."]}),
        ({"name": 5, "arch": "sparc"}, {"name": ["Not a valid string."], "arch": ["Must be one of: aarch64, x86_64."]}),
        ({"name": "a", "link": {}}, {"link": {"path": [MISSING], "type": [MISSING]}}),
        ({"name": "a", "link": 5}, {"link": {"_schema": ["Invalid input type."]}}),
        ({"name": "a", "link": {"path": "x", "type": "http"}}, {"link": {"type": ["Type must be one of: s3."]}}),
        ({"name": "a", "metadata": 5}, {"metadata": ["Not a valid mapping type."]}),
        ({"name": "a", "metadata": {"k": 5}}, {"metadata": {"k": {"value": ["Not a valid string."]}}}),
        ({"name": "a", "metadata": {"key": 5}}, {"metadata": {"5": {"key": ["Not a valid string."]}}}),
        ({"name": "a", "id": UNKNOWN_ID}, {"id": ["Unknown field."]}),
    ],
)  # fmt: skip
def test_what_is_no_image(shared_ims: Ims, body: Any, errors: Any) -> None:
    reply = shared_ims.ask("POST", "/v2/images", body)
    assert reply.media == "application/problem+json"
    assert reply.json() == {
        "status": 422,
        "title": "Unprocessable Entity",
        "detail": "Input data was understood, but failed validation. Re-run request with valid input values for the "
        "fields indicated in the response.",
        "errors": errors,
    }


def test_a_link_is_set_once(ims: Ims) -> None:
    image, link = new(ims)["id"], ims.new_manifest("one")
    assert ims.do("PATCH", f"/v3/images/{image}", {"link": link})["link"] == link
    assert ims.do("PATCH", f"/v2/images/{image}", {"link": link})["link"] == link
    second_manifest = ims.new_manifest("two")
    assert ims.refusal("PATCH", f"/v3/images/{image}", {"arch": "aarch64", "link": second_manifest})[0] == 409
    assert ims.get(f"/v3/images/{image}")["link"] == link
    assert ims.get(f"/v3/images/{image}")["arch"] == "aarch64", "what stood before the link has come about"


def test_a_link_belongs_to_one(ims: Ims) -> None:
    link = ims.new_manifest("one")
    owner = new(ims, link=link)["id"]
    status, detail = ims.refusal("POST", "/v3/images", {"name": "b", "link": link})
    assert status == 422
    assert detail.startswith(f"The link path {link['path']} matches the link path for the IMS image record {owner}. ")


def entry(**link: Any) -> dict[str, Any]:
    return {"type": ROOTFS, "md5": "", "link": link}


THERE = {"type": "s3", "path": "s3://boot-images/bad/rootfs"}
MALFORMED = "The image's manifest.json is malformed. "


@pytest.mark.parametrize(
    ("manifest", "status", "detail"),
    [
        ({"artifacts": []}, 422, "The image's manifest.json does not contain a version field."),
        ({"version": "2.0"}, 422, "The image's manifest.json has a version that is not supported. "
         "Supported image manifest versions are: 1.0"),
        ({"version": "1.0"}, 422, MALFORMED + "It does not contain an artifacts map."),
        ({"version": "1.0", "artifacts": {}}, 422, MALFORMED + "The artifacts property is not a json list."),
        ({"version": "1.0", "artifacts": ["x"]}, 422, MALFORMED + "A listed artifact is not a json dictionary."),
        ({"version": "1.0", "artifacts": [{}]}, 422, MALFORMED + "An artifact does not have a link value"),
        ({"version": "1.0", "artifacts": [entry()]}, 422, MALFORMED + "An artifact does not have a link type field"),
        ({"version": "1.0", "artifacts": [entry(type="ftp")]}, 422,
         MALFORMED + "An artifact link type 'ftp' not supported"),
        ({"version": "1.0", "artifacts": [entry(type="s3")]}, 422,
         MALFORMED + "An artifact does not have a link path field"),
        ({"version": "1.0", "artifacts": [entry(type="s3", path="s3://boot-images/none")]}, 422, "The s3 artifact "
         "{'type': 's3', 'path': 's3://boot-images/none'} cannot be validated. "),
        ({"version": "1.0", "artifacts": [{"link": THERE}]}, 422,
         MALFORMED + "An artifact does not have a type field"),
        ({"version": "1.0", "artifacts": []}, 400, "Error reading the manifest.json for IMS {'path': "),
        ({"version": "1.0", "artifacts": [entry(**THERE)] * 2}, 400, "Error reading the manifest.json for {'path': "),
        (b" " * (1 << 20), 400, "Image manifest file is larger than the expected maximum size for the s3 artifact "),
    ],
)  # fmt: skip
def test_a_manifest_is_looked_at(shared_ims: Ims, manifest: Any, status: int, detail: str) -> None:
    link = shared_ims.new_manifest("bad", manifest)
    refused = shared_ims.refusal("POST", "/v3/images", {"name": "a", "link": link})
    assert (refused[0], refused[1][: len(detail)]) == (status, detail)


@pytest.mark.parametrize(
    "manifest", [b"{", b"\xff", b'{"version": "1.0", "artifacts": [{"link": 5}]}', b'"text"', b"[1]"]
)
def test_a_manifest_that_the_service_trips_over(ims: Ims, manifest: bytes) -> None:
    link = ims.new_manifest("bad", manifest)
    reply = ims.ask("POST", "/v3/images", {"name": "a", "link": link})
    assert (reply.status, reply.json()) == (500, {"message": "Internal Server Error"})


def test_v3_takes_a_link_whose_manifest_cannot_be_read(ims: Ims) -> None:
    link = ims.new_manifest("bad", b"{")
    image = new(ims)["id"]
    assert ims.ask("PATCH", f"/v2/images/{image}", {"link": link}).status == 500
    assert ims.do("PATCH", f"/v3/images/{image}", {"link": link})["link"] == link


@pytest.mark.parametrize("path", ["x", "s3://", "s3://boot-images", "s3://[", "s3://a b/c", "s3://boot-images/\ud800"])
def test_a_path_without_an_object(ims: Ims, path: str) -> None:
    assert ims.ask("POST", "/v3/images", {"name": "a", "link": {"type": "s3", "path": path}}).status == 500


def test_v2_deletes_for_good(ims: Ims) -> None:
    image = ims.image()
    paths = [image["link"]["path"], *(one["link"]["path"] for one in ims.manifest(image["id"])["artifacts"])]
    ims.do("DELETE", f"/v2/images/{image['id']}", status=204)
    assert ims.refusal("GET", f"/v3/images/{image['id']}") == (404, UNKNOWN)
    assert [path for path in paths if ims.find(path) is not None] == []
    assert ims.get("/v3/deleted/images") == []


def test_v2_may_leave_the_files(ims: Ims) -> None:
    image = ims.image()
    ims.do("DELETE", f"/v2/images/{image['id']}?cascade=False", status=204)
    assert ims.find(image["link"]["path"]) is not None


def test_v2_trips_over_a_manifest_that_is_gone(ims: Ims) -> None:
    image = ims.image()
    ims.s3.delete("boot-images", f"{image['id']}/manifest.json")
    assert ims.ask("DELETE", f"/v2/images/{image['id']}").status == 500
    assert ims.get(f"/v3/images/{image['id']}") == image
    ims.do("DELETE", f"/v3/images/{image['id']}", status=204)


def test_v2_deletes_all_until_the_service_restarts(ims: Ims) -> None:
    images_before = ims.get("/v2/images")
    ims.do("DELETE", "/v2/images?cascade=false", status=204)
    image = new(ims)
    assert ims.get("/v3/images") == [image]
    ims = ims.again()
    assert ims.get("/v3/images") == [image], "the emulator's own restart is none of the service's"
    ims.break_("service-restart", "ims", seconds=5)
    ims.step(6)
    assert ims.get("/v3/images") == images_before


def test_v3_puts_an_image_away_and_brings_it_back(ims: Ims) -> None:
    image = ims.image()
    path, whole = f"/v3/images/{image['id']}", ims.manifest(image["id"])
    ims.do("PATCH", path, {"metadata": {"operation": "set", "key": "a", "value": "b"}})
    image = ims.get(path)
    ims.step(60)
    ims.do("DELETE", path, status=204)
    assert ims.refusal("GET", path) == (404, UNKNOWN)
    assert ims.find(image["link"]["path"]) is None
    deleted = ims.get(f"/v3/deleted/images/{image['id']}")
    assert ims.get("/v3/deleted/images") == [deleted]
    deleted_prefix = f"s3://boot-images/deleted/{image['id']}"
    assert deleted["link"] == {"path": f"{deleted_prefix}/deleted_manifest.json", "type": "s3", "etag": ""}
    assert {name: deleted[name] for name in ("id", "name", "arch", "metadata", "created")} == {
        name: image[name] for name in ("id", "name", "arch", "metadata", "created")
    }
    assert deleted["deleted"] == "2027-01-15T08:01:00"
    manifest = json.loads(ims.object(deleted["link"]["path"]))
    assert manifest["created"] == "2027-01-15 08:01:00"
    assert [one["type"] for one in manifest["artifacts"]] == [
        *(one["type"] for one in whole["artifacts"]),
        "application/vnd.cray.image.manifest",
    ]
    assert ims.find(f"{deleted_prefix}/rootfs") is not None
    ims.do("PATCH", f"/v3/deleted/images/{image['id']}", {"operation": "undelete"}, 204)
    assert ims.get(path) == image
    assert ims.manifest(image["id"]) == whole
    assert all(sum_of(ims.object(one["link"]["path"])) == one["md5"] for one in whole["artifacts"])
    assert ims.find(deleted["link"]["path"]) is None
    assert ims.get("/v3/deleted/images") == []


def test_what_kind_a_file_is_survives(ims: Ims) -> None:
    image = ims.image()
    key = f"{image['id']}/boot_parameters"

    def media() -> str:
        return ims.s3._ask("HEAD", "boot-images", key).media

    media_before = media()
    assert media_before.startswith("text/plain")
    ims.do("DELETE", f"/v3/images/{image['id']}", status=204)
    ims.do("PATCH", "/v3/deleted/images", {"operation": "undelete"}, 204)
    assert media() == media_before


def test_all_of_them(ims: Ims) -> None:
    images_before = ims.get("/v3/images")
    ims.do("DELETE", "/v3/images", status=204)
    assert ims.get("/v3/images") == []
    assert len(ims.get("/v3/deleted/images")) == len(images_before)
    ims = ims.again()
    ims.do("PATCH", "/v3/deleted/images", {"operation": "undelete"}, 204)
    assert ims.get("/v3/images") == images_before


def test_the_deleted_go_for_good(ims: Ims) -> None:
    one, *other_images = ims.get("/v3/images")
    ims.do("DELETE", "/v3/images", status=204)
    ims.do("DELETE", f"/v3/deleted/images/{one['id']}", status=204)
    assert ims.find(f"s3://boot-images/deleted/{one['id']}/rootfs") is None
    assert ims.refusal("GET", f"/v3/deleted/images/{one['id']}") == (404, UNKNOWN)
    ims.do("DELETE", "/v3/deleted/images", status=204)
    assert ims.get("/v3/deleted/images") == []
    assert [image for image in other_images if ims.find(f"s3://boot-images/deleted/{image['id']}/rootfs")] == []


def test_an_entry_without_a_sum_does_not_come_back(ims: Ims) -> None:
    """The real service moves the file and then leaves it out of the record."""
    link = {"type": "s3", "path": "s3://boot-images/odd/rootfs"}
    manifest = {"version": "1.0", "artifacts": [{"type": ROOTFS, "link": link}]}
    image = new(ims, link=ims.new_manifest("odd", manifest))["id"]
    ims.do("DELETE", f"/v3/images/{image}", status=204)
    ims.do("PATCH", f"/v3/deleted/images/{image}", {"operation": "undelete"}, 204)
    assert ims.find("s3://boot-images/odd/rootfs") is None
    assert ims.find("s3://boot-images/deleted/odd/rootfs") == b"odd"


def test_what_cannot_be_brought_back(ims: Ims) -> None:
    image = ims.image()["id"]
    ims.do("DELETE", f"/v3/images/{image}", status=204)
    path = f"/v3/deleted/images/{image}"
    assert ims.refusal("PATCH", path, {"operation": "restore"})[0] == 422
    assert ims.ask("PATCH", path, {"operation": "restore"}).json()["errors"] == {
        "operation": ["Recipe type must be one of: undelete."]
    }
    ims.s3.delete("boot-images", f"deleted/{image}/deleted_manifest.json")
    status, detail = ims.refusal("PATCH", path, {"operation": "undelete"})
    assert (status, detail[:50]) == (422, "Unable to read manifest file for the s3 artifact {")
    assert ims.get(path)["id"] == image
    ims.do("DELETE", path, status=204)


def test_s3_is_away(ims: Ims) -> None:
    link = ims.new_manifest("one")
    image = ims.image()["id"]
    ims.break_("server-error", "s3")
    assert ims.refusal("POST", "/v3/images", {"name": "a", "link": link})[0] == 422
    ims.do("DELETE", f"/v3/images/{image}", status=204)
    ims.do("GET", "/v3/images")
