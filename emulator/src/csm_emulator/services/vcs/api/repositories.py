"""Gitea's API of repositories as such."""

from __future__ import annotations

import re

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.types import BOOL, STRING, maybe, struct
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import VCS_USER
from csm_emulator.services.vcs.api.records import shown_repository
from csm_emulator.services.vcs.auth.access import Access
from csm_emulator.services.vcs.auth.accounts import EMAIL
from csm_emulator.services.vcs.auth.owners import Owners
from csm_emulator.services.vcs.git.commits import Change, Person, Writing
from csm_emulator.services.vcs.git.ref_names import is_branch_name
from csm_emulator.services.vcs.repositories import HEADS, Repositories, Repository
from csm_emulator.services.vcs.responses import Refusal, form, not_found, page, told
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_NAME = re.compile(r"[-.0-9A-Za-z_]{1,100}")
_RESERVED = frozenset({".", "..", "-"})
_RESERVED_ENDS = (".git", ".wiki", ".rss", ".atom")
_CREATE = struct(
    "structs.CreateRepoOption",
    {"name": STRING, "description": STRING, "private": BOOL, "auto_init": BOOL, "default_branch": STRING},
)
_EDIT = struct(
    "structs.EditRepoOption",
    {"description": maybe(STRING), "private": maybe(BOOL), "default_branch": maybe(STRING)},
)


class RepositoryApi:
    def __init__(
        self, context: Context, repositories: Repositories, access: Access, owners: Owners, writing: Writing
    ) -> None:
        self._context = context
        self._repositories = repositories
        self._access = access
        self._owners = owners
        self._writing = writing

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/api/v1/repos/search", self.search),
            Route("GET", "/api/v1/orgs/{org}/repos", self.of_organization),
            Route("POST", "/api/v1/orgs/{org}/repos", self.create),
            # Deprecated by Gitea; cf-gitea-import asks here.
            Route("POST", "/api/v1/org/{org}/repos", self.create),
            Route("GET", "/api/v1/user/repos", self.my_own),
            Route("POST", "/api/v1/user/repos", self.create),
            Route("GET", "/api/v1/users/{username}/repos", self.of_user),
            Route("GET", "/api/v1/repos/{owner}/{repo}", self.one),
            Route("PATCH", "/api/v1/repos/{owner}/{repo}", self.edit),
            Route("DELETE", "/api/v1/repos/{owner}/{repo}", self.delete),
        ]

    def one(self, call: Call) -> Reply:
        return told(self._shown(call, self._access.to_read(call)))

    def search(self, call: Call) -> Reply:
        wanted = call.first("q").lower()
        found = [each for each in self._visible(call) if wanted in each.name.lower()]
        shown, headers = page(call, [self._shown(call, each) for each in found])
        return told({"ok": True, "data": shown}, headers=headers)

    def of_organization(self, call: Call) -> Reply:
        return self._listed(call, self._owners.require_organization(call)["username"])

    def of_user(self, call: Call) -> Reply:
        if not self._owners.known(call.args["username"]):
            raise not_found(f"user redirect does not exist [name: {call.args['username']}]")
        return self._listed(call, call.args["username"])

    def my_own(self, call: Call) -> Reply:
        """All that the user may write to."""
        self._access.require_caller(call)
        return self._listed(call, "")

    def create(self, call: Call) -> Reply:
        self._access.require_caller(call)
        owner = self._owners.require_organization(call)["username"] if "org" in call.args else VCS_USER
        said = form(call, _CREATE, "name")
        name, branch = said["name"], said["default_branch"] or "main"
        _check_name(name)
        if not is_branch_name(branch):
            raise Refusal(422, "[DefaultBranch]: GitRefName")
        if self._repositories.find(owner, name):
            raise Refusal(409, "The repository with the same name already exists.")
        made = self._repositories.create(owner, name, said["description"], said["private"], branch)
        if said["auto_init"]:
            self._begin(made)
        return told(self._shown(call, made), 201)

    def edit(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        said = form(call, _EDIT)
        facts = {name: value for name, value in said.items() if value is not None}
        branch = facts.get("default_branch")
        if branch is not None and HEADS + branch not in self._repositories.refs(repository):
            del facts["default_branch"]
        changed = self._repositories.change(repository, **facts, updated=self._context.clock.now())
        return told(self._shown(call, changed))

    def delete(self, call: Call) -> Reply:
        self._repositories.delete(self._access.to_write(call))
        return Reply(204)

    def _begin(self, repository: Repository) -> None:
        who = Person(VCS_USER, EMAIL)
        text = f"# {repository.name}\n\n{repository.description}".encode()
        change = Change({"README.md": text}, "Initial commit\n", who, who, int(self._context.clock.now()))
        self._writing.commit(repository, None, repository.default_branch, change)

    def _listed(self, call: Call, owner: str) -> Reply:
        found = [each for each in self._visible(call) if not owner or each.owner.lower() == owner.lower()]
        shown, headers = page(call, [self._shown(call, each) for each in found])
        return told(shown, headers=headers)

    def _visible(self, call: Call) -> list[Repository]:
        known = self._access.is_known(call)
        return [each for each in self._repositories if known or not each.private]

    def _shown(self, call: Call, repository: Repository) -> Json:
        owner = self._owners.shown(repository.owner, call.base)
        empty = not self._repositories.refs(repository)
        return shown_repository(call.base, repository, owner, empty=empty, may_write=self._access.is_known(call))


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Refusal(422, "[Name]: AlphaDashDot")
    if name in _RESERVED:
        raise Refusal(422, f"name is reserved [name: {name}]")
    end = next((end for end in _RESERVED_ENDS if name.lower().endswith(end)), None)
    if end:
        raise Refusal(422, f"name pattern is not allowed [pattern: *{end}]")
