"""BSS: boot parameters, boot scripts, cloud-init, histories; on an inventory that all sequences share."""

from __future__ import annotations

from hypothesis import strategies as st

from differential.generators.values import Steps, Values, asks, queried, sends, some
from differential.sequence import Step, ask, post, put, wait

BASE = "bss:/boot/v1"
NODES = ("x0c0s0b0n0", "x0c0s0b0n1", "x0c0s1b0n0", "x3000c0s9b0n0")
MACS = ("a4:bf:01:00:00:00", "a4:bf:01:00:00:01", "a4:bf:01:00:00:02", "a4:bf:01:00:00:03")
ROLES = ("Compute", "Compute", "Application", "Management")
_interfaces = tuple(
    post(
        "smd:/hsm/v2/Inventory/EthernetInterfaces",
        {"MACAddress": mac, "ComponentID": node, "IPAddresses": [{"IPAddress": f"10.1.0.{at}"}]},
    )
    for at, (node, mac) in enumerate(zip(NODES, MACS, strict=True), start=1)
)
INVENTORY: tuple[Step, ...] = (
    post(
        "smd:/hsm/v2/State/Components",
        {
            "Components": [
                {"ID": node, "State": "Ready", "NID": nid, "Role": role, "Arch": "X86"}
                for nid, (node, role) in enumerate(zip(NODES, ROLES, strict=True), start=1)
            ]
        },
    ),
    *_interfaces,
    # BSS reads HSM at most once a second.
    wait(1.1),
    post("bss:/boot/v1/hosts"),
)
TAGS = (
    "Default",
    "Global",
    "Compute",
    "Unknown-x86_64",
    "Unknown-aarch64",
    "x9999c0s0b0n0",
    "X0C0S0B0N0",
    "nonsense",
    "",
)
hosts = st.one_of(st.sampled_from(NODES), st.sampled_from(NODES), st.sampled_from(TAGS))
macs = st.sampled_from((*MACS, "A4:BF:01:00:00:00", "a4bf01000000", "02:00:00:00:00:99", "nonsense", ""))
nids = st.sampled_from((1, 2, 3, 99, -1, 0))
PARAMS = ("console=ttyS0", "", "xname=x1 nid=9", "initrd=old quiet", "ds=mine bss_referral_token=mine", "a=${X}")
KERNELS = ("http://127.0.0.1/kernel", "s3://boot-images/1/kernel", "http://127.0.0.1/other", "", "nonsense")
meta: Values = st.sampled_from(
    ({}, {"a": "b"}, {"deep": {"x": [1]}, "instance-id": "i"}, {"shasta-role": "mine"}, None)
)
user: Values = st.sampled_from(({}, {"runcmd": ["true"]}, {"a": {"b": None}}, None))
phone: Values = st.sampled_from(({}, {"hostname": "h", "fqdn": "f", "pub_key_rsa": "k", "instance_id": "i"}, None))
cloud_init = some({"meta-data": meta, "user-data": user, "phone-home": phone})
selections = st.one_of(
    some({}, hosts=st.lists(hosts, min_size=1, max_size=3)),
    some({}, hosts=st.lists(hosts, min_size=1, max_size=3)),
    some({}, macs=st.lists(macs, max_size=2)),
    some({}, nids=st.lists(nids, max_size=2)),
    some(
        {"hosts": st.lists(hosts, max_size=2), "macs": st.lists(macs, max_size=2), "nids": st.lists(nids, max_size=2)}
    ),
)
boot_values = some(
    {
        "params": st.sampled_from(PARAMS),
        "kernel": st.sampled_from(KERNELS),
        "initrd": st.sampled_from(("http://127.0.0.1/initrd", "s3://boot-images/1/initrd", "")),
        "cloud-init": cloud_init,
    }
)
parameters = st.builds(lambda which, what: {**which, **what}, selections, boot_values)
by_host = {
    "name": st.sampled_from((*NODES, "Default", "Compute", "nonsense", "")),
    "mac": st.sampled_from((*MACS, "A4:BF:01:00:00:00", "nonsense", "")),
    "nid": st.sampled_from(("1", "2", "99", "x", "-1", "")),
}
# Without an architecture BSS reads HSM again in the background, at a time of its own.
scripted = {**by_host, "retry": st.sampled_from(("0", "1", "x"))}
addresses = st.sampled_from(("10.1.0.1", "10.1.0.2", "10.1.0.4", "10.9.9.9", "nonsense"))
keys = {"key": st.sampled_from(("a", "deep", "deep.x", "Global", "Global.a", "nothing", "shasta-role", ""))}


def _from_node(method: str, path: st.SearchStrategy[str], body: Values | None = None) -> Steps:
    """A request with the address of a node as its source."""
    if body is None:
        return st.builds(lambda to, source: ask(method, to, headers={"X-Forwarded-For": source}), path, addresses)
    return st.builds(
        lambda to, source, content: ask(method, to, content, headers={"X-Forwarded-For": source}), path, addresses, body
    )


def _scripts() -> Steps:
    return queried(f"{BASE}/bootscript", scripted, 2).map(
        lambda path: ask("GET", f"{path}{'&' if '?' in path else '?'}arch=x86_64")
    )


def creations() -> Steps:
    """Valid parameters."""
    return st.builds(
        lambda host, params, extra: put(
            f"{BASE}/bootparameters",
            {
                "hosts": [host],
                "kernel": KERNELS[0],
                "initrd": "http://127.0.0.1/initrd",
                "params": params,
                "cloud-init": extra,
            },
        ),
        st.sampled_from((*NODES, "Default", "Global", "Compute", "Unknown-x86_64")),
        st.sampled_from(PARAMS[:3]),
        st.sampled_from(({}, {"meta-data": {"a": "b"}, "user-data": {"runcmd": ["true"]}})),
    )


def steps() -> Steps:
    return st.one_of(
        sends("PUT", f"{BASE}/bootparameters", parameters, {"token": "header/bss-referral-token"}),
        sends("PUT", f"{BASE}/bootparameters", parameters),
        sends("POST", f"{BASE}/bootparameters", parameters),
        sends("PATCH", f"{BASE}/bootparameters", parameters),
        sends("DELETE", f"{BASE}/bootparameters", parameters),
        asks("GET", f"{BASE}/bootparameters"),
        asks("GET", queried(f"{BASE}/bootparameters", by_host, 2)),
        sends("GET", f"{BASE}/bootparameters", selections),
        _scripts(),
        _scripts(),
        asks("GET", queried(f"{BASE}/hosts", by_host, 2)),
        asks("GET", f"{BASE}/dumpstate"),
        asks(
            "GET",
            queried(
                f"{BASE}/endpoint-history",
                {"name": by_host["name"], "endpoint": st.sampled_from(("bootscript", "user-data", "x"))},
                2,
            ),
        ),
        _from_node("GET", queried("bss:/meta-data", keys, 1)),
        _from_node("GET", st.just("bss:/user-data")),
        _from_node("POST", st.just("bss:/phone-home"), phone),
        st.sampled_from(("status", "etcd", "hsm", "version", "status/all", "nothing")).map(
            lambda what: ask("GET", f"{BASE}/service/{what}")
        ),
        st.sampled_from(("PUT", "DELETE", "PATCH")).map(lambda method: ask(method, f"{BASE}/bootscript")),
    )
