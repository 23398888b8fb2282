"""Image records, and the loader that makes them."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.services.fas.images import versions
from csm_emulator.site import Site
from service_client import GARBAGE, Service

IMAGE = {
    "deviceType": "nodeBMC",
    "manufacturer": "cray",
    "models": ["WNC"],
    "target": "BMC",
    "tags": ["default"],
    "firmwareVersion": "nc.9",
    "semanticFirmwareVersion": "v9.1",
    "s3URL": "s3://fw/x",
}
CLIENT_ID = "11111111-2222-4333-8444-555555555555"


@pytest.fixture
def fas(site: Site) -> Service:
    return Service(site, "fas", "")


def test_an_empty_machine_has_no_images(fas: Service) -> None:
    assert fas.get("/images") == {"images": []}
    assert fas.get("/v1/images") == {"images": []}


def test_an_image_comes_back_as_it_was_made(fas: Service) -> None:
    reply = fas.ask("POST", "/images", IMAGE)
    image = reply.json()["imageID"]
    assert (reply.status, list(reply.headers)) == (200, [("Location", f"../images/{image}")])
    expected = IMAGE | {"imageID": image, "createTime": "2027-01-15T08:00:00Z", "semanticFirmwareVersion": "9.1.0"}
    assert fas.get(f"/images/{image}") == expected
    assert fas.get("/images") == {"images": [expected]}
    assert fas.ask("PUT", f"/images/{image}", IMAGE | {"needManualReboot": True}).status == 200
    assert fas.get(f"/images/{image}")["needManualReboot"] is True
    assert fas.ask("PUT", f"/images/{CLIENT_ID}", IMAGE).status == 201
    assert fas.ask("DELETE", f"/images/{image}").status == 204
    assert [one["imageID"] for one in fas.get("/images")["images"]] == [CLIENT_ID]


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"deviceType": ""}, "deviceType is required"),
        ({"manufacturer": None}, "manufacturer is required"),
        ({"models": []}, "models is required"),
        ({"target": ""}, "target is required"),
        ({"firmwareVersion": ""}, "firmwareVersion is required"),
        ({"s3URL": ""}, "S3URL is required"),
        ({"tags": []}, "tags cannot be empty"),
        ({"semanticFirmwareVersion": "1.2.3.4"}, "Invalid Semantic Version"),
        ({"semanticFirmwareVersion": "01"}, "Invalid Semantic Version"),
        (
            {"models": "WNC"},
            "json: cannot unmarshal string into Go struct field RawImage.models of type []string",
        ),
    ],
)
def test_missing_fields_of_an_image_are_named(fas: Service, change: dict[str, Any], detail: str) -> None:
    reply = fas.ask("POST", "/images", IMAGE | change)
    assert reply.json() == {"type": "about:blank", "detail": detail, "status": 400, "title": "Bad Request"}
    assert fas.get("/images") == {"images": []}


def test_with_a_software_id_less_is_needed(fas: Service) -> None:
    bare = {name: IMAGE[name] for name in ("target", "tags", "firmwareVersion", "semanticFirmwareVersion", "s3URL")}
    assert fas.ask("POST", "/images", bare | {"softwareIds": ["a"]}).status == 200


@pytest.mark.parametrize(
    ("image", "refusal"),
    [
        ("x", (400, "invalid UUID length: 1")),
        ("g" * 36, (400, "invalid UUID format")),
        ("x" * 45, (400, 'invalid urn prefix: "xxxxxxxxx"')),
        ("00000000-0000-0000-0000-000000000000", (404, "Null image id")),
        (CLIENT_ID, (404, f"Key /images/{CLIENT_ID} does not exist")),
        (f"urn:uuid:{CLIENT_ID}", (404, f"Key /images/{CLIENT_ID} does not exist")),
        (CLIENT_ID.replace("-", ""), (404, f"Key /images/{CLIENT_ID} does not exist")),
    ],
)
def test_an_image_that_is_not_there(fas: Service, image: str, refusal: tuple[int, str]) -> None:
    assert fas.refusal("GET", f"/images/{image}") == refusal
    assert fas.refusal("DELETE", f"/images/{image}") == refusal


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/images"), ("PUT", f"/images/{CLIENT_ID}"), ("POST", "/snapshots"), ("POST", "/loader")],
)
def test_garbage_makes_nothing(fas: Service, method: str, path: str) -> None:
    for body in GARBAGE:
        reply = fas.ask(method, path, body)
        assert reply.status in (400, 201)
        assert reply.status == 400 or path == "/snapshots"
    assert fas.get("/images") == {"images": []}


def test_garbage_for_actions_is_refused_or_an_action_for_everything(fas: Service) -> None:
    for body in GARBAGE:
        assert fas.ask("POST", "/actions", body).status in (400, 202)
    fas.step(30.0)
    assert {action["state"] for action in fas.get("/actions")["actions"]} == {"completed"}


@pytest.mark.parametrize(
    ("lower", "higher"),
    [("1.2.3", "1.2.10"), ("1.2.3-1", "1.2.3"), ("1.0.0-2", "1.0.0-10"), ("1.0.0-9", "1.0.0-a"), ("1", "v1.0.1")],
)
def test_versions_are_ordered(lower: str, higher: str) -> None:
    assert versions.order(lower) < versions.order(higher)


def test_the_loader(fas: Service) -> None:
    assert fas.get("/loader") == {"loaderStatus": "ready"}
    run = fas.ask("POST", "/loader/nexus").json()["loaderRunID"]
    assert fas.get("/loader") == {"loaderStatus": "busy", "loaderRunList": [{"loaderRunID": run}]}
    assert fas.refusal("POST", "/loader/nexus") == (429, "Loader busy, try again later")
    assert fas.get(f"/loader/{run}") == {}
    fas.step(30.0)
    assert fas.get(f"/loader/{run}")["loaderRunOutput"][-1] == "INFO Number of Updates: 0"
    assert fas.ask("DELETE", f"/loader/{run}").status == 204
    assert fas.refusal("GET", f"/loader/{run}")[1] == f"open /fw/loaderlogs/{run}: no such file or directory"


def upload(fas: Service, name: str) -> int:
    body = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\nx\r\n--b--\r\n'.encode()
    return fas.ask("POST", "/loader", body, {"content-type": "multipart/form-data; boundary=b"}).status


def test_uploads(fas: Service) -> None:
    assert fas.refusal("POST", "/loader", b"x") == (400, "request Content-Type isn't multipart/form-data")
    assert upload(fas, "firmware.txt") == 415
    assert upload(fas, "firmware.RPM") == 200
    assert upload(fas, "firmware.zip") == 429


def test_what_the_machine_has_is_in_the_library_and_can_be_loaded_again(tiny: Site) -> None:
    fas = Service(tiny, "fas", "")
    images_before = fas.get("/images")["images"]
    assert {"BMC", "Node0.BIOS", "Node1.BIOS", "iLO 5", "System ROM"} <= {image["target"] for image in images_before}
    for image in images_before:
        assert fas.ask("DELETE", f"/images/{image['imageID']}").status == 204
    fas.ask("POST", "/loader/nexus")
    fas.step(30.0)
    assert len(fas.get("/images")["images"]) == len(images_before)
