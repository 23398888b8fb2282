"""The views of pods in the control API."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.cluster.pods import Container
from csm_emulator.control_api.console_views import pod_log
from csm_emulator.errors import NotFound
from csm_emulator.site import Site
from csm_emulator.transport.call import Call
from service_client import open_site

NAMESPACE = "services"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = open_site(tmp_path / "state")
    cluster = site.context.cluster
    cluster.start_pod(NAMESPACE, "several", (Container("git"), Container("ansible")), {})
    cluster.start_pod(NAMESPACE, "single", (Container("main"),), {"app": "alone"})
    cluster.write_log(NAMESPACE, "several", "ansible", ["PLAY [all]"])
    cluster.write_log(NAMESPACE, "single", "main", ["here I am"])
    return site


def ask(site: Site, **query: str) -> list[str]:
    lines: list[str] = pod_log(site.context, Call("GET", "/pods/log", tuple(query.items())))["lines"]
    return lines


def test_a_pod_with_one_container_needs_no_name_of_it(site: Site) -> None:
    assert ask(site, pod="single") == ask(site, pod="app=alone", container="") == ["here I am"]
    assert ask(site, pod="several", container="ansible") == ["PLAY [all]"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"pod": "several"}, "pod several has several containers; name one; containers: git, ansible"),
        ({"pod": "several", "container": "main"}, "pod several has no container main; containers: git, ansible"),
        ({"pod": "single", "container": "git"}, "pod single has no container git; containers: main"),
        ({"pod": "missing"}, "no pod missing; `csm-emulator pods` lists them"),
    ],
)
def test_an_ambiguous_or_missing_pod_is_named(site: Site, query: dict[str, str], message: str) -> None:
    with pytest.raises(NotFound, match=message):
        ask(site, **query)
