"""The desired state of a boot set's nodes: boot artefacts, kernel parameters, configuration."""

from __future__ import annotations

from csm_emulator.records import Record
from csm_emulator.services.bos.boot_images import INITRD, KERNEL, PARAMETERS, ROOTFS, BootImage
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.failures import Failure


def artefacts(bos: Bos, boot_set: Record) -> Record:
    """Kernel, initrd and kernel parameters; raises ``Failure`` when the image cannot be read."""
    image = bos.images.read(boot_set)
    if image.find(KERNEL) is None:
        raise Failure("KeyError", "'kernel'")
    return {
        "kernel": image.path(KERNEL),
        "initrd": image.path(INITRD),
        "kernel_parameters": _kernel_parameters(bos, boot_set, image),
    }


def configuration(template: Record, boot_set: Record) -> str:
    """The boot set's configuration, else the template's; empty when the template disables CFS."""
    if not template.get("enable_cfs", True):
        return ""
    own = boot_set.get("cfs", {}).get("configuration", "")
    return str(own or template.get("cfs", {}).get("configuration", ""))


def _kernel_parameters(bos: Bos, boot_set: Record, image: BootImage) -> str:
    """Parameters of the image, of the boot set, of the root file system and memory dump, and the report interval."""
    pieces: list[str] = []
    if image.find(PARAMETERS) is not None:
        image.etag(PARAMETERS)
        pieces += bos.images.text(image.path(PARAMETERS)).split()
    if boot_set.get("kernel_parameters"):
        pieces.append(boot_set["kernel_parameters"])
    pieces += _root(boot_set, image)
    pieces.append(f"bos_update_frequency={bos.options.text('component_actual_state_ttl')}")
    return " ".join(pieces)


def _root(boot_set: Record, image: BootImage) -> list[str]:
    passthrough = boot_set.get("rootfs_provider_passthrough", "")
    provider = boot_set.get("rootfs_provider")
    if provider is None:
        return [f"root=::{passthrough}"] if passthrough else []
    if provider != "sbps":
        raise Failure(
            "bos.operators.utils.rootfs.factory.ProviderNotImplemented",
            f"Unsupported rootfs_provider ('{provider}') specified in boot set: {boot_set}",
        )
    if image.find(ROOTFS) is None:
        raise Failure("KeyError", "'rootfs'")
    path, etag = image.path(ROOTFS), image.etag(ROOTFS)
    fields = ["sbps-s3", path, etag, *([passthrough] if passthrough else [])]
    dump = [f"url={path}" if path else "", f"etag={etag}" if etag else ""]
    return [f"root={':'.join(fields)}", f"nmd_data={','.join(part for part in dump if part)}"]
