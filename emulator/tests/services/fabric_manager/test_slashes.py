"""Paths as SAT joins them: the gateway's prefix ends in a slash, and the link of a document begins with one."""

from __future__ import annotations

import pytest

from services.fabric_manager.manager import POLICIES, Manager


@pytest.mark.parametrize("collection", ["/fabric/switches", "/fabric/ports", POLICIES])
def test_the_links_of_documents_can_be_appended_as_they_are(shared_manager: Manager, collection: str) -> None:
    links = shared_manager.get(f"/{collection}")["documentLinks"]
    assert links
    for link in links:
        assert shared_manager.get(f"/{link}") == shared_manager.get(link), link


def test_a_policy_made_through_a_doubled_slash_is_one_policy(manager: Manager) -> None:
    """The requests of ``sat swap`` before a cable is pulled."""
    manager.send("POST", f"/{POLICIES}", {"state": "OFFLINE", "documentSelfLink": "sat-offline"})
    assert f"{POLICIES}/sat-offline" in manager.get(POLICIES)["documentLinks"]


def test_an_unknown_path_and_a_wrong_method_are_refused_as_without(shared_manager: Manager) -> None:
    assert shared_manager.refusal("GET", "//fabric//nothing")[0] == 404
    assert shared_manager.refusal("PUT", "//fabric/switches") == shared_manager.refusal("PUT", "/fabric/switches")
