"""A scene of the story: two nodes boot as a real machine's do, with their console and their configuration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from demo.stage import wait

if TYPE_CHECKING:
    from demo.story import Story

# Off when the machine starts, with four GH200 each.
NODES = ("x1100c0s4b0n0", "x1100c0s4b1n0")
FAST, USUAL = 200, 10
BOOTED_WITHIN = 90.0


class Boot:
    def __init__(self, story: Story) -> None:
        self._story = story

    def tell(self) -> None:
        story = self._story
        story.say(
            "Underneath, nodes boot as a real machine's do. A group in HSM, a configuration in CFS, an image of IMS:"
        )
        self._csm("POST", "/apis/smd/hsm/v2/groups", {"label": "beam", "members": {"ids": NODES}})
        clone = "https://api-gw-service-nmn.local/vcs/cray/site-config-management.git"
        layer = {"clone_url": clone, "playbook": "site.yml", "branch": "main"}
        self._csm("PUT", "/apis/cfs/v3/configurations/beam", {"layers": [layer]})
        images = json.loads(story.stage.run("./csm GET /apis/ims/v3/images").stdout)
        image = next(one for one in images if one["arch"] == "aarch64" and "compute" in one["name"])
        print(f"\n    {image['name']}: {image['link']['path']}")
        story.say("A template in BOS names all three, and a session boots the group.")
        boots = {"type": "s3", "path": image["link"]["path"], "arch": "ARM", "node_groups": ["beam"]}
        template = {"enable_cfs": True, "cfs": {"configuration": "beam"}, "boot_sets": {"gh200": boots}}
        self._csm("PUT", "/apis/bos/v2/sessiontemplates/beam", template)
        self._csm("POST", "/apis/bos/v2/sessions", {"name": "beam", "operation": "boot", "template_name": "beam"})
        story.play(f"csm-emulator clock speed {FAST}")
        wait(self._booted, "a boot through BOS", BOOTED_WITHIN)
        story.play(f"csm-emulator clock speed {USUAL}")
        self._look()

    def _look(self) -> None:
        story = self._story
        story.say("What its console wrote, from the firmware to the login prompt.")
        story.play(f"csm-emulator console {NODES[0]}", expect="Linux version.*login:")
        story.say("What Ansible did on it, from the playbook that is in the site's git.")
        component = story.stage.run(f"./csm GET '/apis/cfs/v3/components/{NODES[0]}?state_details=true'").stdout
        session = json.loads(component)["state"][0]["session_name"]
        story.play(f"csm-emulator pod-log cfsession={session} ansible", expect=f"PLAY RECAP.*{NODES[0]} .*failed=0")
        story.play("./csm GET /apis/bos/v2/sessions/beam/status", expect='"percent_successful": ?100')

    def _csm(self, method: str, path: str, body: Any) -> None:
        self._story.play(f"./csm {method} {path} '{json.dumps(body)}'")

    def _booted(self) -> bool:
        session = self._story.stage.run("./csm GET /apis/bos/v2/sessions/beam").stdout
        return bool(json.loads(session)["status"]["status"] == "complete")
