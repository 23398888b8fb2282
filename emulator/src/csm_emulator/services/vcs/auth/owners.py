"""Whose repositories there are: the one user's, and the organizations'."""

from __future__ import annotations

import re

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.types import STRING, struct
from csm_emulator.records import Json
from csm_emulator.seed_data.repositories import ORGANIZATION
from csm_emulator.seed_data.secrets import VCS_USER
from csm_emulator.services.vcs.auth.accounts import Accounts, user
from csm_emulator.services.vcs.repositories import Repositories
from csm_emulator.services.vcs.responses import Refusal, form, not_found, page, told
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_NAME = re.compile(r"[0-9A-Za-z](?:[-._]?[0-9A-Za-z])*")
LONGEST_NAME = 40
_VISIBILITIES = ("", "public", "limited", "private")
_ABOUT = dict.fromkeys(("full_name", "description", "website", "location", "visibility"), STRING)
_CREATE = struct("structs.CreateOrgOption", {"username": STRING, **_ABOUT})
_EDIT = struct("structs.EditOrgOption", _ABOUT)


class Owners:
    def __init__(self, context: Context, accounts: Accounts, repositories: Repositories) -> None:
        self._accounts = accounts
        self._repositories = repositories
        self._organizations = context.tables.open("vcs.organizations", {ORGANIZATION: _organization(2, ORGANIZATION)})
        self._numbers = context.tables.open("vcs.organizations.count", {"last": 2})

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/api/v1/user", self.myself),
            Route("GET", "/api/v1/users/{username}", self.one_user),
            Route("GET", "/api/v1/orgs", self.organizations),
            Route("GET", "/api/v1/user/orgs", self.organizations),
            Route("POST", "/api/v1/orgs", self.create),
            Route("GET", "/api/v1/users/{username}/orgs", self.organizations_of),
            Route("GET", "/api/v1/orgs/{org}", self.organization),
            Route("PATCH", "/api/v1/orgs/{org}", self.edit),
            Route("DELETE", "/api/v1/orgs/{org}", self.delete),
            Route("GET", "/api/v1/orgs/{org}/members", self.members),
            Route("GET", "/api/v1/orgs/{org}/members/{username}", self.member),
        ]

    def known(self, name: str) -> bool:
        return name.lower() == VCS_USER or self.is_organization(name)

    def is_organization(self, name: str) -> bool:
        return name.lower() in self._organizations

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
        visible = [one for one in self._organizations.values() if self._is_visible(call, one)]
        shown, headers = page(call, [_shown(one, call.base) for one in visible])
        return told(shown, headers=headers)

    def organizations_of(self, call: Call) -> Reply:
        """The one user is a member of all; an organization is a member of none."""
        self.one_user(call)
        return told([]) if self.is_organization(call.args["username"]) else self.organizations(call)

    def require_organization(self, call: Call) -> Json:
        """The record of the organization that the path names; raises Gitea's refusal."""
        record = self._organizations.get(call.args["org"].lower())
        if record is None:
            raise Refusal(404, "GetOrgByName", [f"user redirect does not exist [name: {call.args['org']}]"])
        return record

    def _is_visible(self, call: Call, record: Json) -> bool:
        return record["visibility"] == "public" or self._accounts.caller(call) is not None

    def organization(self, call: Call) -> Reply:
        record = self.require_organization(call)
        if not self._is_visible(call, record):
            raise Refusal(404, "HasOrgOrUserVisible")
        return told(_shown(record, call.base))

    def edit(self, call: Call) -> Reply:
        """A field that the body leaves out is emptied, but for the visibility: so Gitea 1.17 has it."""
        record = self.require_organization(call)
        self._accounts.require(call)
        changed = {**record, **_about(form(call, _EDIT), record["visibility"])}
        self._organizations[record["username"].lower()] = changed
        return told(_shown(changed, call.base))

    def delete(self, call: Call) -> Reply:
        """Gitea refuses one that owns repositories with status 500, and tells an administrator why."""
        record = self.require_organization(call)
        self._accounts.require(call)
        if any(one.owner == record["username"] for one in self._repositories):
            raise Refusal(500, f"user still has ownership of repositories [uid: {record['id']}]")
        del self._organizations[record["username"].lower()]
        return Reply(204)

    def members(self, call: Call) -> Reply:
        """The one user, to a caller who is signed in; to others public members, of whom there are none."""
        self.require_organization(call)
        known = self._accounts.caller(call) is not None
        shown, headers = page(call, [user(call.base)] if known else [])
        return told(shown, headers=headers)

    def member(self, call: Call) -> Reply:
        self.require_organization(call)
        if self._accounts.caller(call) is None or call.args["username"].lower() != VCS_USER:
            raise not_found()
        return Reply(204)

    def create(self, call: Call) -> Reply:
        self._accounts.require(call)
        said = form(call, _CREATE, "username")
        name = said["username"]
        if self.known(name):
            raise Refusal(422, f"user already exists [name: {name}]")
        if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
            raise Refusal(422, "[UserName]: AlphaDashDot")
        number = 1 + self._numbers["last"]
        self._numbers["last"] = number
        record = {**_organization(number, name), **_about(said, "public")}
        self._organizations[name.lower()] = record
        return told(_shown(record, call.base), 201)


def _organization(number: int, name: str) -> Json:
    return {"id": number, "username": name, **dict.fromkeys(_ABOUT, ""), "visibility": "public"}


def _about(fields: Json, visibility: str) -> Json:
    """What the body says of the organization; without a visibility it is this one."""
    if fields["visibility"] not in _VISIBILITIES:
        raise Refusal(422, "[Visibility]: In")
    return {**{name: fields[name] for name in _ABOUT}, "visibility": fields["visibility"] or visibility}


def _shown(kept: Json, base: str) -> Json:
    return {
        "id": kept["id"],
        "name": kept["username"],
        "full_name": kept["full_name"],
        "avatar_url": f"{base}/avatars/{kept['id']}",
        "description": kept["description"],
        "website": kept["website"],
        "location": kept["location"],
        "visibility": kept["visibility"],
        "repo_admin_change_team_access": False,
        "username": kept["username"],
    }
