"""The buckets and objects of a new site, and their changes."""

from __future__ import annotations

import io
import json
import tarfile
from hashlib import md5
from pathlib import Path

import pytest

from csm_emulator.clients.s3 import S3Client, S3Unavailable
from csm_emulator.machine.faults.faults import Fault
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.seed_data import images
from csm_emulator.site import Site
from csm_emulator.state.random import SeededRandom
from csm_emulator.transport.call import ConnectionAborted
from service_client import open_site, reopen
from services.s3.s3_caller import Caller, header


def digest(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("name", "arches"),
    [("empty", set()), ("tiny", {"x86_64"}), ("psi", {"x86_64", "aarch64"})],
)
def test_there_are_images_for_each_architecture(name: str, arches: set[str]) -> None:
    topology = topologies.load(name)
    site_images = images.images(topology, SeededRandom(1))
    assert (
        {image.arch for image in site_images}
        == {recipe.arch for recipe in images.recipes(topology, SeededRandom(1))}
        == arches
    )
    assert len({image.id for image in site_images} | {image.name for image in site_images}) == 2 * len(site_images)
    assert site_images == images.images(topology, SeededRandom(1))
    if arches:
        assert {image.id for image in site_images}.isdisjoint(
            image.id for image in images.images(topology, SeededRandom(2))
        )
        assert any(image.name == "compute-csm-1.6.1-x86_64" for image in site_images)


def test_manifests_lead_to_their_artefacts(s3: Caller) -> None:
    for image in images.images(s3.site.machine.topology, s3.site.random):
        manifest = s3.get("boot-images", image.manifest_key)
        assert digest(manifest) == image.link["etag"]
        document = json.loads(manifest)
        kinds = [artefact["type"].removeprefix(images.KIND) for artefact in document["artifacts"]]
        assert kinds == ["rootfs.squashfs", "kernel", "initrd", "parameters.boot"]
        for artefact in document["artifacts"]:
            data = s3.get("boot-images", artefact["link"]["path"].removeprefix("s3://boot-images/"))
            assert digest(data) == artefact["md5"] == artefact["link"]["etag"]


def test_files_are_what_they_say(s3: Caller) -> None:
    image = next(iter(images.images(s3.site.machine.topology, s3.site.random)))
    marks = {"rootfs": (0, b"hsqs"), "kernel": (0x202, b"HdrS"), "initrd": (0, b"070701")}
    for name, (place, mark) in marks.items():
        assert s3.get("boot-images", f"{image.id}/{name}")[place:].startswith(mark)
    recipe = next(iter(images.recipes(s3.site.machine.topology, s3.site.random)))
    with tarfile.open(fileobj=io.BytesIO(s3.get("ims", recipe.key))) as archive:
        assert archive.getnames() == ["config.xml", "config.sh"]


def test_what_nodes_boot_is_there(tiny: Site) -> None:
    """The URLs in BSS's script are valid, by the clock of the machine."""
    s3, host = Caller(tiny), "http://rgw-vip.nmn"
    script = tiny.mesh.ask("bss", "GET", "/boot/v1/bootscript?name=x1000c0s0b0n0").body.decode()
    urls = [word.removeprefix(host) for word in script.split() if word.startswith(host)]
    assert [s3.unsigned("GET", url).status for url in urls] == [200, 200]
    tiny.step(86_401)
    assert {s3.unsigned("GET", url).status for url in urls} == {403}


def test_nothing_of_it_is_in_the_state_until_it_changes(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    s3 = Caller(site)
    image = next(iter(images.images(site.machine.topology, site.random)))
    s3.get("boot-images", image.manifest_key)
    site.save()
    assert not [row for row in site.state_file.rows() if row[0].startswith("s3.")]
    s3.ask("DELETE", f"/boot-images/{image.id}/initrd")
    s3.put("boot-images", f"{image.id}/kernel", b"own")
    s3.put("ims", "mine", b"data")
    s3.ask("PUT", "/boot-images/copy", headers={"x-amz-copy-source": f"boot-images/{image.id}/rootfs"})
    s3.ask("DELETE", "/sat")
    reopened_s3 = Caller(reopen(site))
    assert reopened_s3.refusal("GET", f"/boot-images/{image.id}/initrd") == "404 NoSuchKey"
    assert reopened_s3.refusal("GET", "/sat") == "404 NoSuchBucket"
    assert f"{image.id}/initrd" not in reopened_s3.texts("/boot-images", "Key")
    assert reopened_s3.get("boot-images", f"{image.id}/kernel") == b"own"
    assert reopened_s3.get("boot-images", "copy") == reopened_s3.get("boot-images", f"{image.id}/rootfs")
    assert reopened_s3.get("ims", "mine") == b"data"
    reopened_s3.site.state_file.close()


def test_bytes_without_a_reference_are_deleted(s3: Caller) -> None:
    for data in (b"one", b"two"):
        s3.put("sds", "a", data)
    s3.site.save()
    assert [s3.site.state_file.blob(f"s3/{number}") for number in (1, 2)] == [None, b"two"]
    s3.ask("DELETE", "/sds/a")
    s3.site.save()
    assert s3.site.state_file.blob("s3/2") is None


def test_an_upload_that_is_cut_leaves_nothing(s3: Caller) -> None:
    s3.put("sds", "a", b"old")
    s3.site.set_fault(Fault("f", "upload-cut", "sds", remaining=3))
    client = S3Client(s3.site.mesh, s3.keys)
    with pytest.raises(S3Unavailable) as caught:
        client.put("sds", "a", b"new")
    assert caught.value.reply.status == 503
    reply = s3.ask("PUT", "/sds/new", b"new")
    assert reply.status == 503
    assert s3.put("ims", "other", b"elsewhere")
    assert s3.get("sds", "a") == b"old"
    assert s3.refusal("GET", "/sds/new") == "404 NoSuchKey"
    assert s3.ask("PUT", "/sds/a", b"new").status == 503
    assert s3.put("sds", "a", b"new")
    assert header(s3.ask("HEAD", "/sds/a"), "etag") == f'"{digest(b"new")}"'


def test_an_object_that_goes_while_it_is_read_cuts_the_reader(s3: Caller) -> None:
    s3.put("sds", "a", bytes(5 << 20))
    reply = s3.ask("GET", "/sds/a")
    s3.ask("DELETE", "/sds/a")
    assert reply.stream is not None
    with pytest.raises(ConnectionAborted):
        reply.stream().__anext__().send(None)
