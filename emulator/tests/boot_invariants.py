"""Invariants of BOS, of CFS and of the fabric, which hold after any sequence of requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from csm_emulator.machine.fabric.plan import PlannedPort
from csm_emulator.site import Site
from site_invariants import SiteView

PUSHED_WITHIN = 30.0
"""Seconds: a sweep runs every eleven seconds, and a push takes up to three; a longer time is an error."""


def get(site: Site, service: str, path: str) -> Any:
    """The body of the reply; None while the service is down."""
    reply = site.mesh.ask(service, "GET", path)
    return reply.json() if reply.ok else None


def check_bos(view: SiteView, checked_components: set[tuple[str, str]]) -> None:
    """A node that BOS calls booted or shut down was up or off after its session began; ended sessions have no nodes.

    ``checked_components``: pairs of component and session that were checked before.
    """
    components = get(view.site, "bos", "/v2/components")
    sessions = get(view.site, "bos", "/v2/sessions")
    if components is None or sessions is None:
        return
    by_name = {session["name"]: session for session in sessions}
    for component in components:
        session = by_name.get(component["session"])
        if component["enabled"] and session is not None:
            assert session["status"]["status"] != "complete", f"{component['id']} works for {session['name']}"
        finished = not component["enabled"] and session is not None and component["status"]["status"] == "stable"
        if finished and (component["id"], component["session"]) not in checked_components:
            checked_components.add((component["id"], component["session"]))
            _check_got_there(view, component, session)


def _check_got_there(view: SiteView, component: dict[str, Any], session: Any) -> None:
    node, operation = component["id"], session["operation"]
    goal = {"boot-stage": "up"} if operation != "shutdown" else {"boot-stage": "off"}
    entries = [line for line in view.lines() if line["target"] == node and line["what"] in goal]
    was = any(line["stage"] == goal[line["what"]] for line in entries)
    is_now = view.boot.stage(node) == goal["boot-stage"]
    assert was or is_now, f"BOS says that {operation} of {node} is done"


def check_cfs(view: SiteView) -> None:
    """No node is in two sessions of the batcher at once, and a configured node has each layer of its configuration."""
    sessions = _all(view.site, "/v3/sessions", "sessions")
    if sessions is None:
        return
    live = [one for one in sessions if one["status"]["session"]["status"] != "complete"]
    limits = [one["ansible"]["limit"].split(",") for one in live if one["name"].startswith("batcher-")]
    twice = [node for node, count in Counter(node for limit in limits for node in limit).items() if count > 1]
    assert twice == [], "a node is configured by two sessions at once"
    for session in sessions:
        status = session["status"]["session"]
        assert (status["status"] == "complete") == (status["completion_time"] is not None), status
        assert status["status"] == "complete" or status["succeeded"] in ("none", "unknown"), status
    for component in _all(view.site, "/v3/components?state_details=true&config_details=true", "components") or ():
        if component["configuration_status"] == "configured":
            _check_layers(component)


def _check_layers(component: dict[str, Any]) -> None:
    desired_layers = {(layer["playbook"], layer["commit"]) for layer in component["desired_state"]}
    finished_layers = {
        (layer["playbook"], layer["commit"])
        for layer in component["state"]
        if layer["status"] in ("applied", "skipped")
    }
    assert desired_layers <= finished_layers, component


def _all(site: Site, path: str, name: str) -> list[Any] | None:
    records: list[Any] = []
    next_page = ""
    while True:
        page = get(site, "cfs", f"{path}{'&' if '?' in path else '?'}limit=1000{next_page}")
        if page is None:
            return None
        records += page[name]
        if page["next"] is None:
            return records
        next_page = f"&after_id={page['next']['after_id']}"


def edge_ports(site: Site) -> dict[str, PlannedPort]:
    """The edge ports by the NIC that is planned there."""
    return {place.end: place for place in site.machine.fabric.plan.ports.values() if place.edge and place.end}


def check_frames(site: Site, tags: tuple[int | None, ...]) -> None:
    """Whether a frame arrives follows from the two ports at its ends alone, computed here a second time."""
    fabric = site.machine.fabric
    ports = edge_ports(site)
    links = list(ports)[:4]
    for source in links:
        for target in links:
            if source != target:
                for tag in tags:
                    reckoned = _passes(site, ports[source], ports[target], tag)
                    walked = fabric.trace_frame(source, target, tag)
                    assert walked.reached == reckoned, f"{source} to {target} with {tag}: {walked}"
                    assert walked.reached or walked.drop_reason


def _passes(site: Site, source: PlannedPort, target: PlannedPort, tag: int | None) -> bool:
    source_state, target_state = site.machine.fabric.state(source.xname), site.machine.fabric.state(target.xname)
    powered = all(site.machine.power.state(place.switch.xname) == "on" for place in (source, target))
    if not (source_state.online and target_state.online and powered):
        return False
    if tag is None:
        vlan = source_state.native if source_state.untagged else None
    else:
        vlan = tag if source_state.allowed is None or tag in source_state.allowed else None
    if vlan is None:
        return False
    untagged = target_state.untagged and target_state.native == vlan
    return untagged or target_state.allowed is None or vlan in target_state.allowed


def check_pushed(site: Site, excused: set[str], quiet_since: float) -> None:
    """Some time after the last change every port that no fault changed is as the documents say."""
    if site.clock.now() - quiet_since < PUSHED_WITHIN:
        return
    fabric = site.machine.fabric
    for place in edge_ports(site).values():
        intention = fabric.intended_state(place.xname)
        if place.xname not in excused and intention is not None:
            effective: Mapping[str, object] = fabric.state(place.xname).data()
            for name, value in intention.items():
                assert effective[name] == value, f"{place.xname}: {name} is {effective[name]}, and should be {value}"
