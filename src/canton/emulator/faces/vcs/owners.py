"""Whose repositories there are: the one user's, and the organizations'."""

from __future__ import annotations

import re

from canton.emulator.faces.vcs.accounts import Accounts, user
from canton.emulator.faces.vcs.answers import Refusal, form, not_found, page, told
from canton.emulator.furniture.keys import VCS_USER
from canton.emulator.furniture.repositories import ORGANIZATION
from canton.emulator.wire.call import Call, Json, Reply
from canton.emulator.wire.go_kinds import STRING, struct
from canton.emulator.wire.routes import Route
from canton.emulator.world import World

_NAME = re.compile(r"[0-9A-Za-z](?:[-._]?[0-9A-Za-z])*")
LONGEST_NAME = 40
_CREATE = struct(
    "structs.CreateOrgOption",
    {"username": STRING, "full_name": STRING, "description": STRING, "website": STRING, "location": STRING},
)


class Owners:
    def __init__(self, world: World, accounts: Accounts) -> None:
        self._accounts = accounts
        self._organizations = world.shelves.open("vcs.organizations", {ORGANIZATION: _organization(2, ORGANIZATION)})

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/api/v1/user", self.myself),
            Route("GET", "/api/v1/users/{username}", self.one_user),
            Route("GET", "/api/v1/orgs", self.organizations),
            Route("GET", "/api/v1/user/orgs", self.organizations),
            Route("POST", "/api/v1/orgs", self.create),
            Route("GET", "/api/v1/orgs/{org}", self.organization),
        ]

    def known(self, name: str) -> bool:
        return name.lower() == VCS_USER or self.is_organization(name)

    def is_organization(self, name: str) -> bool:
        return name.lower() in self._organizations

    def spelled(self, name: str) -> str:
        """The name as it was given when it was made."""
        found = self._organizations.get(name.lower())
        return str(found["username"]) if found else VCS_USER

    def shown(self, name: str, base: str) -> Json:
        """As the owner of a repository is shown, be it a user or an organization."""
        found = self._organizations.get(name.lower())
        if found is None:
            return user(base)
        return {
            **user(base),
            "id": found["id"],
            "login": found["username"],
            "username": found["username"],
            "full_name": found["full_name"],
            "description": found["description"],
            "email": "",
            "avatar_url": f"{base}/avatars/{found['id']}",
            "language": "",
            "is_admin": False,
            "active": False,
        }

    def myself(self, call: Call) -> Reply:
        self._accounts.require(call)
        return told(user(call.base))

    def one_user(self, call: Call) -> Reply:
        if not self.known(call.args["username"]):
            raise not_found(f"user redirect does not exist [name: {call.args['username']}]")
        return told(self.shown(call.args["username"], call.base))

    def organizations(self, call: Call) -> Reply:
        if call.path.endswith("/user/orgs"):
            self._accounts.require(call)
        shown, headers = page(call, [_shown(each, call.base) for each in self._organizations.values()])
        return told(shown, headers=headers)

    def organization(self, call: Call) -> Reply:
        found = self._organizations.get(call.args["org"].lower())
        if found is None:
            raise not_found()
        return told(_shown(found, call.base))

    def create(self, call: Call) -> Reply:
        self._accounts.require(call)
        said = form(call, _CREATE, "username")
        name = said["username"]
        if self.known(name):
            raise Refusal(422, f"user already exists [name: {name}]")
        if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
            raise Refusal(422, "[UserName]: AlphaDashDot")
        number = 1 + max(each["id"] for each in self._organizations.values())
        self._organizations[name.lower()] = {**_organization(number, name), **said}
        return told(_shown(self._organizations[name.lower()], call.base), 201)


def _organization(number: int, name: str) -> Json:
    return {"id": number, "username": name, "full_name": "", "description": "", "website": "", "location": ""}


def _shown(kept: Json, base: str) -> Json:
    return {
        "id": kept["id"],
        "name": kept["username"],
        "full_name": kept["full_name"],
        "avatar_url": f"{base}/avatars/{kept['id']}",
        "description": kept["description"],
        "website": kept["website"],
        "location": kept["location"],
        "visibility": "public",
        "repo_admin_change_team_access": False,
        "username": kept["username"],
    }
