"""Boot parameters: the schema of requests, and the records of replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.dialects.go_json.types import (
    ANY,
    BOOL,
    INT32,
    STRING,
    STRINGS,
    empty,
    map_of,
    pointer_to,
    slice_of,
    struct,
)
from csm_emulator.records import Json

_KEYS = ("pub_key_dsa", "pub_key_rsa", "pub_key_ecdsa", "pub_key_ed25519", "instance_id", "hostname", "fqdn")
PHONE_HOME = struct("bssTypes.PhoneHome", dict.fromkeys(_KEYS, STRING))
_CLOUD_DATA = map_of(ANY, "bssTypes.CloudDataType")
CLOUD_INIT = struct(
    "bssTypes.CloudInit", {"meta-data": _CLOUD_DATA, "user-data": _CLOUD_DATA, "phone-home": PHONE_HOME}
)
BOOT_PARAMS = struct(
    "bssTypes.BootParams",
    {
        "hosts": STRINGS,
        "macs": STRINGS,
        "nids": slice_of(INT32),
        "params": STRING,
        "kernel": STRING,
        "initrd": STRING,
        "cloud-init": CLOUD_INIT,
    },
)
STATE_CHANGE = struct(
    "main.Scn",
    {
        "Components": STRINGS,
        "Enabled": pointer_to(BOOL),
        **dict.fromkeys(("Role", "SubRole", "SoftwareStatus", "State"), STRING),
    },
)
NO_CLOUD_INIT = empty(CLOUD_INIT)


@dataclass(frozen=True, slots=True)
class Image:
    """A kernel or an initrd: its path, and the kernel parameters that belong to it."""

    path: str = ""
    params: str = ""


@dataclass(frozen=True, slots=True)
class BootData:
    """The boot parameters of a node, role or tag."""

    params: str = ""
    kernel: Image = Image()
    initrd: Image = Image()
    cloud_init: Json = None
    token: str = ""

    def cloud(self, part: str) -> Json:
        """``meta-data`` or ``user-data``, empty when there is none."""
        return (self.cloud_init or NO_CLOUD_INIT)[part] or {}


def entry_record(data: BootData, hosts: Sequence[str] = (), *, with_cloud: bool = True) -> Json:
    """An entry without its empty fields, but always with cloud-init."""
    fields = {
        "hosts": list(hosts),
        "params": data.params,
        "kernel": data.kernel.path,
        "initrd": data.initrd.path,
    }
    entry = {name: value for name, value in fields.items() if value}
    return entry | {"cloud-init": _cloud_init_record(data.cloud_init if with_cloud else None)}


def image_record(image: Image, kind: str) -> Json:
    """The entry of an image."""
    entry = {"params": image.params, kind: image.path}
    return {name: value for name, value in entry.items() if value} | {"cloud-init": _cloud_init_record(None)}


def _cloud_init_record(cloud_init: Json) -> Json:
    cloud_init = cloud_init or NO_CLOUD_INIT
    phone = cloud_init["phone-home"]
    return {**cloud_init, "phone-home": {key: phone[key] for key in phone if phone[key] or key != "pub_key_ed25519"}}
