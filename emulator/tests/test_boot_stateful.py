"""Any sequence of requests to BOS, CFS and the Fabric Manager, with faults, waits and restarts: the invariants hold."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import boot_invariants
import site_invariants
from csm_emulator.machine.faults.faults import Fault
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.site import Site, StartOptions
from csm_emulator.state.file import StateFile
from csm_emulator.transport.call import Reply
from site_invariants import SiteView

TINY = topologies.load("tiny")
MOMENT = 1_800_000_000.0
NODES = ("x1000c0s0b0n0", "x1000c0s0b0n1", "x1000c0s0b1n0", "x1000c0s1b0n0")
PORTS = ("x1000c0r3j1p0", "x1000c0r3j1p1", "x1000c0r7j1p0")
VLANS = (100, 200)
CLONE = "https://api-gw-service-nmn.local/vcs/cray/{}.git"
GOOD = {"clone_url": CLONE.format("site-config-management"), "playbook": "site.yml", "branch": "main"}
MISSING = {"clone_url": CLONE.format("site-config-management"), "playbook": "missing.yml", "branch": "main"}
OTHER = {"clone_url": CLONE.format("slurm-config-management"), "playbook": "site.yml", "branch": "main"}
SWITCH_FAULTS = ("fm-no-effect", "slow-barrier")
nodes = st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True)
names = st.sampled_from("ab")


class BootSequences(RuleBasedStateMachine):
    site: Site

    @initialize(seed=st.integers(0, 2))
    def open(self, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="canton-boots-"))
        self.start = StartOptions(TINY, seed, 0.0, MOMENT)
        self.sessions: list[str] = []
        self.done: set[tuple[str, str]] = set()
        self.spoilt: set[str] = set()
        self.changed = 0.0
        self._enter()
        images = boot_invariants.get(self.site, "ims", "/v3/images")
        self.image = next(one["link"] for one in images if one["arch"] == "x86_64")

    def _enter(self) -> None:
        self.kept = StateFile(self.folder / "state")
        self.site = Site(self.start, self.kept)
        self.view = SiteView(self.site)

    def ask(self, service: str, method: str, path: str, body: Any) -> Reply:
        reply = self.site.mesh.ask(service, method, path, body)
        assert reply.status < 500, f"{method} {path} of {service}: {reply.body!r}"
        return reply

    @rule(name=names, layers=st.lists(st.sampled_from([GOOD, MISSING, OTHER]), min_size=1, max_size=2, unique_by=str))
    def put_a_configuration(self, name: str, layers: list[dict[str, str]]) -> None:
        assert self.ask("cfs", "PUT", f"/v3/configurations/{name}", {"layers": layers}).ok

    @rule(name=names)
    def drop_a_configuration(self, name: str) -> None:
        """Not while a component desires it."""
        users = boot_invariants.get(self.site, "cfs", f"/v3/components?config_name={name}")["components"]
        reply = self.ask("cfs", "DELETE", f"/v3/configurations/{name}", {})
        assert not (reply.ok and users), f"{users[0]['id']} desires {name}"

    @rule(name=names, members=nodes, configuration=st.none() | names)
    def put_a_template(self, name: str, members: list[str], configuration: str | None) -> None:
        boots = {"type": "s3", "path": self.image["path"], "etag": self.image["etag"], "node_list": members}
        body: dict[str, Any] = {"boot_sets": {"compute": boots}, "enable_cfs": configuration is not None}
        if configuration is not None:
            body["cfs"] = {"configuration": configuration}
        assert self.ask("bos", "PUT", f"/v2/sessiontemplates/{name}", body).ok

    @rule(name=names, operation=st.sampled_from(["boot", "reboot", "shutdown"]), limit=st.none() | nodes)
    def begin_a_session(self, name: str, operation: str, limit: list[str] | None) -> None:
        body: dict[str, Any] = {"template_name": name, "operation": operation}
        if limit:
            body["limit"] = ",".join(limit)
        reply = self.ask("bos", "POST", "/v2/sessions", body)
        if reply.ok:
            self.sessions.append(reply.json()["name"])

    @precondition(lambda self: bool(self.sessions))
    @rule(which=st.integers(0, 20))
    def drop_a_session(self, which: int) -> None:
        self.ask("bos", "DELETE", f"/v2/sessions/{self.sessions[which % len(self.sessions)]}", {})

    @rule(node=st.sampled_from(NODES), enabled=st.booleans())
    def enable(self, node: str, enabled: bool) -> None:
        self.ask("bos", "PATCH", f"/v2/components/{node}", {"enabled": enabled})

    @rule(node=st.sampled_from(NODES), configuration=st.sampled_from(["", "a", "b"]))
    def desire(self, node: str, configuration: str) -> None:
        self.ask("cfs", "PATCH", f"/v3/components/{node}", {"desired_config": configuration, "enabled": True})

    @rule(configuration=names, members=nodes)
    def configure_by_hand(self, configuration: str, members: list[str]) -> None:
        name = f"hand-{self.site.log.last}-{len(self.sessions)}-{int(self.site.clock.now())}"
        body = {"name": name, "configuration_name": configuration, "ansible_limit": ",".join(members)}
        self.ask("cfs", "POST", "/v3/sessions", body)

    @rule(node=st.sampled_from(NODES), action=st.sampled_from(["ForceOff", "On", "ForceRestart"]))
    def pull_the_plug(self, node: str, action: str) -> None:
        self.site.machine.power.reset(node, action, "test")

    @rule(vlan=st.sampled_from(VLANS), method=st.sampled_from(["POST", "DELETE"]))
    def change_a_vlan(self, vlan: int, method: str) -> None:
        path = "/fabric/vlans" if method == "POST" else f"/fabric/vlans/{vlan}"
        self._fabric(method, path, {"id": vlan, "name": f"vlan{vlan}", "status": "ONLINE"})

    @rule(name=names, vlan=st.sampled_from(VLANS), untagged=st.booleans(), method=st.sampled_from(["POST", "PATCH"]))
    def change_a_policy(self, name: str, vlan: int, untagged: bool, method: str) -> None:
        link = f"/fabric/vlans/{vlan}"
        body: dict[str, Any] = {"nativeVlanId": link, "allowedVlans": [link], "isUntaggedAllowed": untagged}
        if method == "POST":
            self._fabric("POST", "/fabric/port-policies", body | {"documentSelfLink": name})
        else:
            self._fabric("PATCH", f"/fabric/port-policies/{name}", body)

    @rule(port=st.sampled_from(PORTS), first=st.none() | names)
    def change_a_port(self, port: str, first: str | None) -> None:
        links = [f"/fabric/port-policies/{name}" for name in (first, "edge-policy") if name]
        if self._fabric("PATCH", f"/fabric/ports/{port}", {"portPolicyLinks": links}).ok:
            document = boot_invariants.get(self.site, "fabric-manager", f"/fabric/ports/{port}")
            assert document["portPolicyLinks"] == links

    def _fabric(self, method: str, path: str, body: dict[str, Any]) -> Reply:
        self.changed = self.site.clock.now()
        return self.ask("fabric-manager", method, path, body)

    @rule(port=st.sampled_from(PORTS), vlan=st.sampled_from(VLANS), online=st.booleans())
    def drift(self, port: str, vlan: int, online: bool) -> None:
        document_before = boot_invariants.get(self.site, "fabric-manager", f"/fabric/ports/{port}")
        self._fault("port-drift", port, None, online=int(online), native=vlan, allowed=vlan)
        self.spoilt.add(port)
        assert boot_invariants.get(self.site, "fabric-manager", f"/fabric/ports/{port}") == document_before, (
            "the Fabric Manager does not see drift"
        )

    @rule(kind=st.sampled_from(SWITCH_FAULTS), port=st.sampled_from(PORTS))
    def break_a_port(self, kind: str, port: str) -> None:
        self._fault(kind, port, None)
        self.spoilt.add(port)

    @rule(
        kind=st.sampled_from(["cfs-layer-fails", "boot-hangs", "no-power-on", "bos-unknown-member"]),
        node=st.sampled_from(NODES),
        remaining=st.none() | st.integers(1, 2),
    )
    def break_a_node(self, kind: str, node: str, remaining: int | None) -> None:
        self._fault(kind, node, remaining)

    @rule(service=st.sampled_from(["smd", "bss", "cfs", "pcs", "s3", "vcs"]), remaining=st.integers(1, 3))
    def break_the_wire(self, service: str, remaining: int) -> None:
        """While BOS or CFS works; the test's own requests may then fail, so it waits until the fault is used up."""
        self._fault("server-error", service, remaining)
        self.wait(45.0)
        self.mend()

    def _fault(self, kind: str, targets: str, remaining: int | None, **facts: object) -> None:
        self.site.set_fault(Fault(self.site.faults.new_id(), kind, targets, remaining=remaining, facts=facts))

    @rule()
    def mend(self) -> None:
        for fault in list(self.site.faults):
            self.site.clear_fault(fault.id)

    @rule(seconds=st.sampled_from([0.0, 5.0, 15.0, 61.0, 300.0, 900.0]))
    def wait(self, seconds: float) -> None:
        self.site.step(seconds)

    @rule()
    def open_again(self) -> None:
        """A restart leaves everything as it was."""
        self.site.save()
        contents, lines = self.view.contents(), self.view.lines()
        self.site.close()
        self.kept.close()
        self._enter()
        assert self.view.contents() == contents
        assert self.view.lines() == lines

    @rule()
    def settle(self) -> None:
        """Without faults every session ends within three hours, and no component is left in one."""
        self.mend()
        self.site.step(3 * 3600.0)
        for session in boot_invariants.get(self.site, "bos", "/v2/sessions"):
            assert session["status"]["status"] == "complete", session
        sessions = boot_invariants.get(self.site, "cfs", "/v3/sessions")["sessions"]
        assert [one["name"] for one in sessions if one["status"]["session"]["status"] != "complete"] == []

    @invariant()
    def invariants_hold(self) -> None:
        if not hasattr(self, "site"):
            return
        site_invariants.check_machine(self.view)
        if not any(fault.kind == "server-error" for fault in self.site.faults):
            boot_invariants.check_bos(self.view, self.done)
            boot_invariants.check_cfs(self.view)
        boot_invariants.check_frames(self.site, (None, *VLANS))
        boot_invariants.check_pushed(self.site, self.spoilt, self.changed)

    def teardown(self) -> None:
        if hasattr(self, "site"):
            self.settle()
            self.invariants_hold()
            self.site.close()
            self.kept.close()
            shutil.rmtree(self.folder)


TestBootSequences = BootSequences.TestCase
TestBootSequences.settings = settings(max_examples=12, stateful_step_count=30, deadline=None)
