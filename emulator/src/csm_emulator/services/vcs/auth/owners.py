"""Owners of repositories: the one user, and the organizations."""

from __future__ import annotations

import re

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.types import STRING, struct
from csm_emulator.records import Json
from csm_emulator.seed_data.repositories import ORGANIZATION
from csm_emulator.seed_data.secrets import VCS_USER
from csm_emulator.services.vcs.auth.accounts import Accounts, user
from csm_emulator.services.vcs.repositories import Repositories
from csm_emulator.services.vcs.responses import ApiError, gitea_reply, not_found, page, read_body
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_NAME = re.compile(r"[0-9A-Za-z](?:[-._]?[0-9A-Za-z])*")
LONGEST_NAME = 40
_VISIBILITIES = ("", "public", "limited", "private")
_PROFILE_FIELDS = dict.fromkeys(("full_name", "description", "website", "location", "visibility"), STRING)
_CREATE = struct("structs.CreateOrgOption", {"username": STRING, **_PROFILE_FIELDS})
_EDIT = struct("structs.EditOrgOption", _PROFILE_FIELDS)


class Owners:
    def __init__(self, context: Context, accounts: Accounts, repositories: Repositories) -> None:
        self._accounts = accounts
        self._repositories = repositories
        self._organizations = context.tables.open("vcs.organizations", {ORGANIZATION: _organization(2, ORGANIZATION)})
        self._numbers = context.tables.open("vcs.organizations.count", {"last": 2})

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/api/v1/user", self.myself),
            Route("GET", "/api/v1/users/{username}", self.user),
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

    def exists(self, name: str) -> bool:
        return name.lower() == VCS_USER or self.is_organization(name)

    def is_organization(self, name: str) -> bool:
        return name.lower() in self._organizations

    def owner_document(self, name: str, base: str) -> Json:
        """The owner of a repository as JSON: a user or an organization."""
        organization = self._organizations.get(name.lower())
        if organization is None:
            return user(base)
        return {
            **user(base),
            "id": organization["id"],
            "login": organization["username"],
            "username": organization["username"],
            "full_name": organization["full_name"],
            "description": organization["description"],
            "email": "",
            "avatar_url": f"{base}/avatars/{organization['id']}",
            "language": "",
            "is_admin": False,
            "active": False,
        }

    def myself(self, call: Call) -> Reply:
        self._accounts.require(call)
        return gitea_reply(user(call.base))

    def user(self, call: Call) -> Reply:
        if not self.exists(call.args["username"]):
            raise not_found(f"user redirect does not exist [name: {call.args['username']}]")
        return gitea_reply(self.owner_document(call.args["username"], call.base))

    def organizations(self, call: Call) -> Reply:
        if call.path.endswith("/user/orgs"):
            self._accounts.require(call)
        visible = [
            organization for organization in self._organizations.values() if self._is_visible(call, organization)
        ]
        page_items, headers = page(call, [_organization_document(organization, call.base) for organization in visible])
        return gitea_reply(page_items, headers=headers)

    def organizations_of(self, call: Call) -> Reply:
        """The user is a member of all organizations; an organization is a member of none."""
        self.user(call)
        return gitea_reply([]) if self.is_organization(call.args["username"]) else self.organizations(call)

    def require_organization(self, call: Call) -> Json:
        """The record of the organization in the path; raises ``ApiError``."""
        record = self._organizations.get(call.args["org"].lower())
        if record is None:
            raise ApiError(404, "GetOrgByName", [f"user redirect does not exist [name: {call.args['org']}]"])
        return record

    def _is_visible(self, call: Call, record: Json) -> bool:
        return record["visibility"] == "public" or self._accounts.caller(call) is not None

    def organization(self, call: Call) -> Reply:
        record = self.require_organization(call)
        if not self._is_visible(call, record):
            raise ApiError(404, "HasOrgOrUserVisible")
        return gitea_reply(_organization_document(record, call.base))

    def edit(self, call: Call) -> Reply:
        """Edit an organization. As in Gitea 1.17, fields that the body lacks are emptied, except the visibility."""
        record = self.require_organization(call)
        self._accounts.require(call)
        changed = {**record, **_profile(read_body(call, _EDIT), record["visibility"])}
        self._organizations[record["username"].lower()] = changed
        return gitea_reply(_organization_document(changed, call.base))

    def delete(self, call: Call) -> Reply:
        """Delete an organization. For one with repositories Gitea returns 500, with the reason for administrators."""
        record = self.require_organization(call)
        self._accounts.require(call)
        if any(repository.owner == record["username"] for repository in self._repositories):
            raise ApiError(500, f"user still has ownership of repositories [uid: {record['id']}]")
        del self._organizations[record["username"].lower()]
        return Reply(204)

    def members(self, call: Call) -> Reply:
        """The user, for an authenticated caller; others see public members only, and there are none."""
        self.require_organization(call)
        authenticated = self._accounts.caller(call) is not None
        page_items, headers = page(call, [user(call.base)] if authenticated else [])
        return gitea_reply(page_items, headers=headers)

    def member(self, call: Call) -> Reply:
        self.require_organization(call)
        if self._accounts.caller(call) is None or call.args["username"].lower() != VCS_USER:
            raise not_found()
        return Reply(204)

    def create(self, call: Call) -> Reply:
        self._accounts.require(call)
        options = read_body(call, _CREATE, "username")
        name = options["username"]
        if self.exists(name):
            raise ApiError(422, f"user already exists [name: {name}]")
        if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
            raise ApiError(422, "[UserName]: AlphaDashDot")
        number = 1 + self._numbers["last"]
        self._numbers["last"] = number
        record = {**_organization(number, name), **_profile(options, "public")}
        self._organizations[name.lower()] = record
        return gitea_reply(_organization_document(record, call.base), 201)


def _organization(number: int, name: str) -> Json:
    return {"id": number, "username": name, **dict.fromkeys(_PROFILE_FIELDS, ""), "visibility": "public"}


def _profile(fields: Json, visibility: str) -> Json:
    """The profile fields of the body; ``visibility`` is the default."""
    if fields["visibility"] not in _VISIBILITIES:
        raise ApiError(422, "[Visibility]: In")
    return {**{name: fields[name] for name in _PROFILE_FIELDS}, "visibility": fields["visibility"] or visibility}


def _organization_document(record: Json, base: str) -> Json:
    return {
        "id": record["id"],
        "name": record["username"],
        "full_name": record["full_name"],
        "avatar_url": f"{base}/avatars/{record['id']}",
        "description": record["description"],
        "website": record["website"],
        "location": record["location"],
        "visibility": record["visibility"],
        "repo_admin_change_team_access": False,
        "username": record["username"],
    }
