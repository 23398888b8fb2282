"""The iPXE script that boots a node."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from csm_emulator.services.bss.boot_parameters.records import BootData
from csm_emulator.services.bss.boot_script.presigned_urls import SigningError
from csm_emulator.services.bss.responses import Panic

SERVER = "https://api-gw-service-nmn.local/apis/bss"
CLOUD_INIT_ADDRESS = "http://10.92.100.81:8888"
"""The cloud-init address of nodes: the gateway's virtual address on the node management network."""
RETRY_DELAY = 30
RETRIEVAL_DELAY = 10
_S3_PARAMS = re.compile("(^|[ ])((metal.server=|root=live:)(s3://[^ ]*))")
_JOIN_TOKEN = "${SPIRE_JOIN_TOKEN}"  # noqa: S105 (a place for one)


class ScriptUnavailable(Exception):
    """BSS has no script for the node; the text is its message."""


@dataclass(frozen=True, slots=True)
class BootingNode:
    """The node that boots; all fields are empty for an unknown host."""

    xname: str = ""
    nid: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class ScriptInputs:
    """Functions that return the URL of an image and a SPIRE join token."""

    url: Callable[[str], str]
    join_token: Callable[[str], str]


def retry_script(chain: str) -> str:
    """A script that loads the script again after ``RETRIEVAL_DELAY`` seconds."""
    return f"#!ipxe\nsleep {RETRIEVAL_DELAY}\n{chain}\n"


def boot_script(data: BootData, node: BootingNode, chain: str, label: str, inputs: ScriptInputs) -> str:
    """The script that boots the node; raises ``ScriptUnavailable``."""
    if not data.kernel.path:
        raise ScriptUnavailable(f"{label}: this host not configured for booting.")
    params = _with_urls(_params(data, node, inputs), inputs.url)
    try:
        kernel = inputs.url(data.kernel.path)
        initrd = inputs.url(data.initrd.path) if data.initrd.path else ""
    except SigningError as error:
        raise ScriptUnavailable(str(error)) from None
    if data.initrd.path:
        params = f"initrd=initrd {_without_initrd(params)}"
    lines = [f"kernel --name kernel {kernel} {params.strip(' ')} || goto boot_retry"]
    if data.initrd.path:
        lines += [
            f"initrd --name initrd {initrd} || goto boot_retry",
            "imgstat || echo Could not show image information.",
        ]
    return "\n".join(["#!ipxe", *lines, "boot || goto boot_retry", ":boot_retry", f"sleep {RETRY_DELAY}", chain, ""])


def _params(data: BootData, node: BootingNode, inputs: ScriptInputs) -> str:
    params = " ".join([data.params, *(extra for extra in (data.kernel.params, data.initrd.params) if extra)])
    for name, value in (
        ("xname=", node.xname),
        ("nid=", node.nid),
        ("bss_referral_token=", node.token),
        ("ds=", f"nocloud-net;s={CLOUD_INIT_ADDRESS}/"),
    ):
        if value and not any(param.startswith(name) for param in params.split(" ")):
            params += f" {name}{value}"
    return params.replace(_JOIN_TOKEN, inputs.join_token(node.xname)) if _JOIN_TOKEN in params else params


def _with_urls(params: str, url: Callable[[str], str]) -> str:
    """The parameters with URLs of root file systems instead of S3 addresses, up to the first that cannot be signed."""
    result = params
    for separator, parameter, name, address in _S3_PARAMS.findall(params):
        try:
            result = result.replace(separator + parameter, separator + name + url(address), 1)
        except SigningError:
            return result
    return result


def _without_initrd(params: str) -> str:
    """Without the initrd parameter; raises ``Panic`` when it is the last one, as BSS reads past the end then."""
    start = params.find("initrd")
    if start < 0:
        return params
    end = params.find(" ", start)
    if end < 0:
        raise Panic
    return params[:start] + params[end:]
