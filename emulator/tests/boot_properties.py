"""What is true of BOS, of CFS and of the fabric beside the machine, whatever was asked of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from csm_emulator.machine.fabric.plan import PlannedPort
from csm_emulator.site import Site
from site_properties import Picture

PUSHED_WITHIN = 30.0
"""A sweep every eleven seconds, three on the way; more is somebody's mistake."""


def get(site: Site, service: str, path: str) -> Any:
    """None where the service is away."""
    reply = site.mesh.ask(service, "GET", path)
    return reply.json() if reply.ok else None


def check_bos(picture: Picture, done: set[tuple[str, str]]) -> None:
    """Whoever BOS calls booted was up, whoever it calls shut down was off, after its session had begun; and nobody
    still works for a session that is over. ``done``: what was looked at before, component and session.
    """
    components = get(picture.site, "bos", "/v2/components")
    sessions = get(picture.site, "bos", "/v2/sessions")
    if components is None or sessions is None:
        return
    by_name = {session["name"]: session for session in sessions}
    for component in components:
        session = by_name.get(component["session"])
        if component["enabled"] and session is not None:
            assert session["status"]["status"] != "complete", f"{component['id']} works for {session['name']}"
        finished = not component["enabled"] and session is not None and component["status"]["status"] == "stable"
        if finished and (component["id"], component["session"]) not in done:
            done.add((component["id"], component["session"]))
            _check_got_there(picture, component, session)


def _check_got_there(picture: Picture, component: dict[str, Any], session: Any) -> None:
    node, operation = component["id"], session["operation"]
    wanted = {"boot-stage": "up"} if operation != "shutdown" else {"boot-stage": "off"}
    seen = [line for line in picture.lines() if line["target"] == node and line["what"] in wanted]
    was = any(line["stage"] == wanted[line["what"]] for line in seen)
    is_now = picture.boot.stage(node) == wanted["boot-stage"]
    assert was or is_now, f"BOS says that {operation} of {node} is done"


def check_cfs(picture: Picture) -> None:
    """No node is in two sessions of the batcher at once, and what is configured has each layer of its configuration."""
    sessions = _all(picture.site, "/v3/sessions", "sessions")
    if sessions is None:
        return
    live = [one for one in sessions if one["status"]["session"]["status"] != "complete"]
    limits = [one["ansible"]["limit"].split(",") for one in live if one["name"].startswith("batcher-")]
    twice = [node for node, count in Counter(node for limit in limits for node in limit).items() if count > 1]
    assert twice == [], "a node is configured by two sessions at once"
    for session in sessions:
        told = session["status"]["session"]
        assert (told["status"] == "complete") == (told["completion_time"] is not None), told
        assert told["status"] == "complete" or told["succeeded"] in ("none", "unknown"), told
    for component in _all(picture.site, "/v3/components?state_details=true&config_details=true", "components") or ():
        if component["configuration_status"] == "configured":
            _check_layers(component)


def _check_layers(component: dict[str, Any]) -> None:
    wanted = {(layer["playbook"], layer["commit"]) for layer in component["desired_state"]}
    there = {
        (layer["playbook"], layer["commit"])
        for layer in component["state"]
        if layer["status"] in ("applied", "skipped")
    }
    assert wanted <= there, component


def _all(site: Site, path: str, name: str) -> list[Any] | None:
    found: list[Any] = []
    after = ""
    while True:
        page = get(site, "cfs", f"{path}{'&' if '?' in path else '?'}limit=1000{after}")
        if page is None:
            return None
        found += page[name]
        if page["next"] is None:
            return found
        after = f"&after_id={page['next']['after_id']}"


def edge_ports(site: Site) -> dict[str, PlannedPort]:
    """By the NIC that is planned there."""
    return {place.end: place for place in site.machine.fabric.plan.ports.values() if place.edge and place.end}


def check_frames(site: Site, tags: tuple[int | None, ...]) -> None:
    """Reckoned again from nothing but the ports at both ends: whoever reaches whom is what these two let through."""
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
    one, other = site.machine.fabric.state(source.xname), site.machine.fabric.state(target.xname)
    powered = all(site.machine.power.state(place.switch.xname) == "on" for place in (source, target))
    if not (one.online and other.online and powered):
        return False
    if tag is None:
        vlan = one.native if one.untagged else None
    else:
        vlan = tag if one.allowed is None or tag in one.allowed else None
    if vlan is None:
        return False
    untagged = other.untagged and other.native == vlan
    return untagged or other.allowed is None or vlan in other.allowed


def check_pushed(site: Site, excused: set[str], quiet_since: float) -> None:
    """Some time after the last change every port that nobody spoilt is as the documents want it."""
    if site.clock.now() - quiet_since < PUSHED_WITHIN:
        return
    fabric = site.machine.fabric
    for place in edge_ports(site).values():
        wanted = fabric.intended_state(place.xname)
        if place.xname not in excused and wanted is not None:
            effective = fabric.state(place.xname).data()
            for name, value in wanted.items():
                assert effective[name] == value, f"{place.xname}: {name} is {effective[name]}, and should be {value}"
