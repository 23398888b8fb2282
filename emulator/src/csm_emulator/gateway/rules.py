"""The permissions of roles and workloads, as tables. In a path, ``*`` matches anything, ``?`` one character and
``{xname}`` the caller's own xname. Paths are matched with their query, so a rule without ``*`` at its end allows no
query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

Rules = Mapping[str, tuple[re.Pattern[str], ...]]
"""Patterns by method; a group in a pattern, if there is one, is the xname."""

READ = "GET HEAD"
WRITE = "PATCH POST PUT"
ALL_BUT_HEAD = "DELETE GET PATCH POST PUT"
ALL = "DELETE GET HEAD PATCH POST PUT"

_GLOB = {"*": ".*", "?": ".", "{xname}": "([^/]*)"}


def _expression(path: str) -> str:
    return "".join(_GLOB.get(part) or re.escape(part) for part in re.split(r"(\*|\?|\{xname\})", path))


def rules(*entries: tuple[str, str]) -> Rules:
    """Rules from pairs of methods and path."""
    by_method: dict[str, list[str]] = {}
    for methods, path in entries:
        for method in methods.split():
            by_method.setdefault(method, []).append(path)
    return {method: tuple(map(re.compile, _expressions(paths))) for method, paths in by_method.items()}


def _expressions(paths: Sequence[str]) -> list[str]:
    """Paths without an xname are joined to one pattern, which is faster."""
    any_node = [_expression(path) for path in paths if "{xname}" not in path]
    own = [_expression(path) for path in paths if "{xname}" in path]
    return [*own, "|".join(any_node)] if any_node else own


TENANT_ADMIN = rules(
    ("GET", "/apis/bos/v2"),
    ("POST", "/apis/bos/v2/applystaged"),
    ("GET", "/apis/bos/v2/components"),
    ("GET", "/apis/bos/v2/components/*"),
    ("GET", "/apis/bos/v2/healthz"),
    ("GET POST", "/apis/bos/v2/sessions"),
    ("GET", "/apis/bos/v2/sessions/*"),
    ("GET", "/apis/bos/v2/sessiontemplates"),
    ("GET", "/apis/bos/v2/sessiontemplates/*"),
    ("GET", "/apis/bos/v2/version"),
    ("GET", "/apis/cfs/v3/configurations"),
    ("DELETE GET PATCH PUT", "/apis/cfs/v3/configurations/*"),
)
SLINGSHOT_ADMIN = rules((ALL_BUT_HEAD, "/apis/fabric-manager/*"))

_NMD = "/apis/v2/nmd"
_FABRIC = "/apis/fabric-manager"
_SMD = "/apis/smd/hsm"
_VNI = (("DELETE GET HEAD POST", "/apis/vnid/*"), ("DELETE GET HEAD POST", "/apis/jackaloped/*"))
_CPS = (
    ("GET", "/apis/v2/cps/transports*"),
    ("POST", "/apis/v2/cps/contents"),
    ("POST", "/apis/v2/cps/transports"),
)

ROLES: Mapping[str, Rules] = {
    "user": rules(
        ("GET", "/apis/uas-mgr/v1/"),
        ("DELETE GET POST", "/apis/uas-mgr/v1/uas"),
        ("GET", "/apis/uas-mgr/v1/images"),
        ("GET", "/apis/uas-mgr/v1/mgr-info"),
        (ALL, "/apis/pals/v1/*"),
        (ALL, "/apis/capsules/*"),
        ("GET", "/apis/sma-telemetry-api/*"),
    ),
    "wlm": rules(
        ("POST", "/apis/bos/v2/applystaged"),
        ("GET", "/apis/bos/v2/sessions/*"),
        ("POST", "/apis/bos/v2/sessions"),
        (READ, f"{_SMD}/v2/*"),
        *_VNI,
        ("GET", f"{_FABRIC}/certmgr/certificate-authorities/*"),
        ("GET", f"{_FABRIC}/fabric/*"),
        (f"DELETE {WRITE}", f"{_FABRIC}/fabric/collectives/*"),
        ("GET", f"{_FABRIC}/host-settings*"),
        ("GET", f"{_FABRIC}/telemetry/*"),
    ),
    "ckdump": rules(("GET HEAD POST PUT", f"{_NMD}/*")),
    "monitor-ro": rules(("GET", "/apis/sma-telemetry-api/*")),
    "slingshot-operator": rules(
        ("GET", f"{_FABRIC}/*"),
        (WRITE, f"{_FABRIC}/fabric/*"),
        (WRITE, f"{_FABRIC}/host-settings*"),
        (WRITE, f"{_FABRIC}/switch-telemetry/*"),
        (WRITE, f"{_FABRIC}/telemetry/*"),
    ),
    "slingshot-guest": rules(
        ("GET", f"{_FABRIC}/fabric/*"),
        ("GET", f"{_FABRIC}/host-settings*"),
        ("GET", f"{_FABRIC}/telemetry/*"),
    ),
    "slingshot-security": rules(
        ("GET", f"{_FABRIC}/*"),
        (f"DELETE {WRITE}", f"{_FABRIC}/certmgr/*"),
        (WRITE, f"{_FABRIC}/fabric/rosetta-auth-token*"),
        (WRITE, f"{_FABRIC}/fabric/shasta-auth-token*"),
    ),
    "system-pxe": rules((READ, "/apis/bss/boot/v1/bootscript*")),
    "system-compute": rules(
        ("PATCH", "/apis/bos/v?/components/*"),
        ("PATCH", "/apis/cfs/components/*"),
        ("PATCH", "/apis/cfs/v?/components/*"),
        *_CPS,
        ("GET", "/apis/v2/cos/configs"),
        ("PUT", f"{_NMD}/status/*"),
        (READ, f"{_SMD}/v?/*"),
        ("PATCH", f"{_SMD}/v?/State/Components/BulkSoftwareStatus"),
        ("GET", "/apis/power-control/v1/power-status*"),
        (READ, "/apis/hmnfd/hmi/v1/subscriptions"),
        ("DELETE PATCH POST", "/apis/hmnfd/hmi/v1/subscribe"),
        ("DELETE GET PATCH POST", "/apis/hmnfd/hmi/v2/subscriptions/*"),
        ("POST", "/apis/hbtd/hmi/v1/heartbeat"),
        ("POST", "/apis/hbtd/hmi/v1/heartbeat/*"),
        ("GET", "/apis/hbtd/hmi/v1/params"),
    ),
    "system-nexus": rules(
        ("GET", "/keycloak/admin/realms/shasta/clients*"),
        ("GET", "/keycloak/admin/realms/shasta/users*"),
        ("GET", "/keycloak/admin/realms/shasta/roles*"),
        ("GET", "/keycloak/admin/realms/shasta/groups*"),
    ),
    "system-slingshot": SLINGSHOT_ADMIN,
}
"""Roles of the clients ``shasta`` and ``system-slingshot-client``."""

# As in the chart with opa.xnamePolicy.enabled and all its parts: a node may act only for itself. tpm-provisioner has no
# xname, since the chart's rule for it could never match (an unescaped "?" in a regular expression).
_CFS = rules(("PATCH", "/apis/cfs/components/{xname}"), ("PATCH", "/apis/cfs/v?/components/{xname}"))
_BOS = rules(("PATCH", "/apis/bos/v?/components/{xname}"))
_MOUNT = rules(*_CPS)
_COS = rules(("GET", "/apis/v2/cos/configs"))
_DUMP = rules(("PUT", f"{_NMD}/status/{{xname}}"))
_DVS = rules(
    ("GET", "/apis/hmnfd/hmi/v2/subscriptions/{xname}"),
    ("DELETE PATCH POST", "/apis/hmnfd/hmi/v2/subscriptions/{xname}/agents/*"),
    ("PATCH", f"{_SMD}/v2/State/Components/{{xname}}/SoftwareStatus"),
    ("DELETE PATCH POST", "/apis/hmnfd/hmi/v1/subscribe"),
    (READ, "/apis/hmnfd/hmi/v1/subscriptions"),
    (READ, f"{_SMD}/v2/*"),
    (READ, "/apis/sls/v1/*"),
)
_TPM = rules(
    ("GET", "/apis/tpm-provisioner/authorize*"),
    ("POST", "/apis/tpm-provisioner/challenge/request"),
    ("POST", "/apis/tpm-provisioner/challenge/submit"),
)
_BEAT = rules(("POST", "/apis/hbtd/hmi/v1/heartbeat/{xname}"), ("GET", "/apis/hbtd/hmi/v1/params"))

_ON_MOST = {
    "bos-reporter": _BOS,
    "cfs-state-reporter": _CFS,
    "cpsmount": _MOUNT,
    "cpsmount_helper": _MOUNT,
    "cos-config-helper": _COS,
    "dvs-hmi": _DVS,
    "dvs-map": _DVS,
    "heartbeat": _BEAT,
    "orca": _DVS,
    "tpm-provisioner": _TPM,
}
_DUMPS = {"ckdump": _DUMP, "ckdump_helper": _DUMP}
_WLM = {"wlm": rules(*_VNI, ("DELETE GET HEAD POST", "/apis/ogopogod/*"))}

WORKLOADS: Mapping[str, Mapping[str, Rules]] = {
    "compute": _ON_MOST | _DUMPS | _WLM,
    "ncn": _ON_MOST | {"sbps-marshal": rules(("GET", "/apis/ims/v3/images"))},
    "storage": {"cfs-state-reporter": _CFS, "heartbeat": _BEAT, "tpm-provisioner": _TPM},
    "uan": _ON_MOST | _DUMPS,
}
"""Rules of workloads with a SPIRE identity, by type of node."""


def allows(rules_of_role: Rules | None, method: str, path: str, xname: str = "") -> bool:
    if rules_of_role is None:
        return False
    matches: Iterable[re.Match[str] | None] = (pattern.fullmatch(path) for pattern in rules_of_role.get(method, ()))
    return any(match is not None and (match.lastindex is None or match[1] == xname) for match in matches)
