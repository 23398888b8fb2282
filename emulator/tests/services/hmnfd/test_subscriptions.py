"""Subscriptions, in the old form and in the new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.site import Site
from csm_emulator.transport.call import Call
from service_client import GARBAGE, Service, Spy, open_site, reopen

NODE, URL = "x1000c0s0b0n0", "http://127.0.0.1:9/scn"
OLD = {"Subscriber": f"agent@{NODE}", "Components": ["x1c0s0b0n0"], "States": ["On", "Off"], "Url": URL}
NEW = {"Components": ["x1c0s0b0n0"], "States": ["Ready"], "Url": URL}
AGENT = f"/v2/subscriptions/{NODE}/agents/agent"


@pytest.fixture
def hmnfd(site: Site) -> Service:
    return Service(site, "hmnfd", "/hmi")


def listed(hmnfd: Service) -> list[dict[str, object]]:
    return hmnfd.get("/v2/subscriptions")["SubscriptionList"] or []


def test_nothing_is_null(hmnfd: Service) -> None:
    assert hmnfd.get("/v1/subscriptions") == {"SubscriptionList": None}
    assert hmnfd.get(f"/v2/subscriptions/{NODE}") == {"SubscriptionList": None}


def test_the_old_form_comes_back_in_small_letters(hmnfd: Service) -> None:
    expected = OLD | {"Enabled": True, "Roles": ["Compute"], "SubRoles": ["UAN"], "SoftwareStatus": ["AdminDown"]}
    reply = hmnfd.ask("POST", "/v1/subscribe", expected | {"Url": "http://HOST/Path"})
    assert (reply.status, list(reply.headers)) == (200, [("Connection", "close")])
    assert listed(hmnfd) == [
        {
            "Components": ["x1c0s0b0n0"],
            "Subscriber": f"agent@{NODE}",
            "SubscriberComponent": NODE,
            "SubscriberAgent": "agent",
            "Enabled": True,
            "Roles": ["compute"],
            "SubRoles": ["uan"],
            "SoftwareStatus": ["admindown"],
            "States": ["on", "off"],
            "Url": "http://host/path",
        }
    ]
    assert hmnfd.refusal("POST", "/v1/subscribe", expected)[1] == "Subscription exists, cannot modify in POST operation"


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"Subscriber": None}, "Subscription request missing Subscriber field."),
        ({"Subscriber": "a@b@c"}, "Subscription request Subscriber field has invalid format."),
        ({"Subscriber": "a@b"}, "Subcriber field is not a valid XName"),
        ({"Components": []}, "Subscription request missing Components array field."),
        ({"Url": ""}, "Subscription request missing Url field."),
        ({"States": []}, "Subscription request needs at least one of: States, SoftwareStatus, Roles, SubRoles."),
        ({"Subscriber": 5, "Url": []}, "Invalid data type in Subscriber field. Invalid data type in Url field. "),
        ({"Enabled": "yes"}, "Invalid data type in Enabled field. "),
        ({"Components": "x"}, ""),
        ({"SubRoles": 5}, "Invalid data type in SubRoles array field. "),
    ],
)
def test_the_error_of_a_subscription_is_named(hmnfd: Service, change: dict[str, object], detail: str) -> None:
    assert hmnfd.refusal("POST", "/v1/subscribe", OLD | change) == (400, detail)
    assert listed(hmnfd) == []


def test_the_old_form_is_changed_by_subscriber_and_url(hmnfd: Service) -> None:
    hmnfd.ask("POST", "/v1/subscribe", OLD)
    assert hmnfd.ask("PATCH", "/v1/subscribe", OLD | {"Url": "http://other", "States": ["Ready"]}).status == 200
    assert listed(hmnfd)[0]["States"] == ["on", "off"]
    assert hmnfd.ask("PATCH", "/v1/subscribe", OLD | {"States": ["Ready"]}).status == 200
    assert [one["States"] for one in listed(hmnfd)] == [["ready"]]


def test_the_old_form_is_deleted_by_subscriber_and_url(hmnfd: Service) -> None:
    hmnfd.ask("POST", "/v1/subscribe", OLD)
    reply = hmnfd.ask("DELETE", "/v1/subscribe", {})
    assert (reply.status, reply.body.count(b'"detail"')) == (400, 2)
    assert hmnfd.ask("DELETE", "/v1/subscribe", {"Subscriber": NODE, "Url": URL}).status == 200
    assert len(listed(hmnfd)) == 1
    assert hmnfd.ask("DELETE", "/v1/subscribe", {"Subscriber": f"agent@{NODE}", "Url": URL.upper()}).status == 200
    assert listed(hmnfd) == []


def test_the_new_form_by_node_and_agent(hmnfd: Service) -> None:
    assert hmnfd.ask("POST", AGENT, NEW).status == 200
    assert hmnfd.refusal("POST", AGENT, NEW)[1] == "Subscription exists, cannot modify in POST operation"
    assert hmnfd.ask("POST", f"/v2/subscriptions/{NODE}/agents/other", NEW).status == 200
    assert hmnfd.ask("PATCH", AGENT, NEW | {"States": ["Off"]}).status == 204
    subscriptions = hmnfd.get(f"/v2/subscriptions/{NODE.upper()}")["SubscriptionList"]
    assert {one["SubscriberAgent"]: one["States"] for one in subscriptions} == {"agent": ["off"], "other": ["ready"]}
    assert hmnfd.ask("DELETE", AGENT).status == 204
    assert hmnfd.refusal("DELETE", AGENT) == (400, "No matching subscription for DELETE")
    assert hmnfd.ask("DELETE", f"/v2/subscriptions/{NODE}/agents").status == 204
    assert listed(hmnfd) == []
    assert hmnfd.refusal("GET", "/v2/subscriptions/rubbish") == (400, "Invalid XName in URL path")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", "/v1/subscribe"), ("PATCH", "/v1/subscribe"), ("DELETE", "/v1/subscribe"), ("POST", AGENT)),
        *(("PATCH", AGENT), ("POST", "/v1/scn"), ("PATCH", "/v2/params")),
    ],
)
def test_garbage_changes_nothing(hmnfd: Service, method: str, path: str) -> None:
    params_before = hmnfd.get("/v1/params")
    for body in GARBAGE:
        reply = hmnfd.ask(method, path, body)
        assert reply.status in (200, 204, 400, 500)
        assert reply.status != 500 or path == "/v1/scn"
        assert listed(hmnfd) == []
        assert hmnfd.get("/v1/params") == params_before


@pytest.mark.parametrize("agent", ["a#svc", "#", "svc", "a.b", "ü", "x#hs.on"])
def test_unusual_agent_names_are_harmless(hmnfd: Service, agent: str) -> None:
    path = f"/hmi/v2/subscriptions/{NODE}/agents/{agent}"
    body = b'{"Components":["all"],"States":["On"],"Url":"http://127.0.0.1"}'
    assert hmnfd.site.ask("hmnfd", Call("POST", path, body=body)).status == 200
    assert len(listed(hmnfd)) == 1
    assert hmnfd.ask("POST", "/v1/scn", {"Components": ["x0"], "State": "On"}).status == 200
    hmnfd.step(5.0)


def test_hsm_is_asked_only_for_what_it_does_not_tell_yet(hmnfd: Service) -> None:
    spy = Spy(hmnfd.site)
    hmnfd.ask("POST", AGENT, NEW)
    hmnfd.ask("POST", f"/v2/subscriptions/{NODE}/agents/other", NEW)
    hmnfd.ask("POST", f"/v2/subscriptions/{NODE}/agents/third", NEW | {"States": ["Ready", "Halt"]})
    bodies = spy.bodies("/hsm/v2/Subscriptions/SCN")
    assert [body["States"] for body in bodies] == [["ready"], ["ready", "halt"]]
    assert {body["Url"] for body in bodies} == {"https://cray-hmnfd/hmi/v1/scn"}
    assert "Components" not in bodies[0]
    assert hmnfd.get("/v1/health")["HsmSubscriptions"] == 'HSM Subscription: {"HWStates":["ready","halt"]}'


def test_only_a_machine_with_hardware_subscribes_and_only_once(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    spy = Spy(site)
    site.step(30.0)
    assert len(spy.bodies("/hsm/v2/Subscriptions/SCN")) == 1
    reopened_site = reopen(site)
    spy = Spy(reopened_site)
    reopened_site.step(30.0)
    assert spy.bodies("/hsm/v2/Subscriptions/SCN") == []
    reopened_site.state_file.close()


def test_parameters(hmnfd: Service) -> None:
    assert hmnfd.ask("PATCH", "/v1/params", {"scn_max_cache": 7, "SM_url": "http://x"}).status == 200
    params = hmnfd.get("/v2/params")
    assert (params["Scn_max_cache"], params["SM_url"]) == (7, "http://x")
    assert hmnfd.refusal("PATCH", "/v1/params", {"Port": 1, "Scn_in_url": "u", "Debug": 9}) == (
        400,
        "Parameter 'port' can't be changed in PATCH operation; "
        "Parameter 'scn_in_url' can't be changed in PATCH operation; ",
    )
    assert hmnfd.get("/v1/params")["Debug"] == 0
    assert hmnfd.refusal("PATCH", "/v1/params", {"DEBUG": "1", "sm_url": 5}) == (
        400,
        "Invalid data type in Debug field. Invalid data type in SM_url field. ",
    )
    assert hmnfd.refusal("PATCH", "/v1/params", {"Scn_backoff": "1"}) == (400, "")
    assert hmnfd.refusal("PATCH", "/v1/params", b"{") == (400, "unexpected end of JSON input")
