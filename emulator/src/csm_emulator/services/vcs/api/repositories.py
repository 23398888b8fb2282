"""Gitea's API for repositories."""

from __future__ import annotations

import re

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.types import BOOL, STRING, pointer_to, struct
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import VCS_USER
from csm_emulator.services.vcs.api.records import repository_document
from csm_emulator.services.vcs.auth.access import Access
from csm_emulator.services.vcs.auth.accounts import EMAIL
from csm_emulator.services.vcs.auth.owners import Owners
from csm_emulator.services.vcs.git.commits import Change, GitWriter, Person
from csm_emulator.services.vcs.git.ref_names import is_branch_name
from csm_emulator.services.vcs.repositories import HEADS, Repositories, Repository
from csm_emulator.services.vcs.responses import ApiError, gitea_reply, not_found, page, read_body
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
    {"description": pointer_to(STRING), "private": pointer_to(BOOL), "default_branch": pointer_to(STRING)},
)


class RepositoryApi:
    def __init__(
        self, context: Context, repositories: Repositories, access: Access, owners: Owners, writer: GitWriter
    ) -> None:
        self._context = context
        self._repositories = repositories
        self._access = access
        self._owners = owners
        self._writer = writer

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/api/v1/repos/search", self.search),
            Route("GET", "/api/v1/orgs/{org}/repos", self.of_organization),
            Route("POST", "/api/v1/orgs/{org}/repos", self.create),
            # Deprecated by Gitea, but cf-gitea-import uses it.
            Route("POST", "/api/v1/org/{org}/repos", self.create),
            Route("GET", "/api/v1/user/repos", self.my_own),
            Route("POST", "/api/v1/user/repos", self.create),
            Route("GET", "/api/v1/users/{username}/repos", self.of_user),
            Route("GET", "/api/v1/repos/{owner}/{repo}", self.get),
            Route("PATCH", "/api/v1/repos/{owner}/{repo}", self.edit),
            Route("DELETE", "/api/v1/repos/{owner}/{repo}", self.delete),
        ]

    def get(self, call: Call) -> Reply:
        return gitea_reply(self._document(call, self._access.to_read(call)))

    def search(self, call: Call) -> Reply:
        query = call.first("q").lower()
        matches = [repository for repository in self._visible(call) if query in repository.name.lower()]
        page_items, headers = page(call, [self._document(call, repository) for repository in matches])
        return gitea_reply({"ok": True, "data": page_items}, headers=headers)

    def of_organization(self, call: Call) -> Reply:
        return self._list_of_owner(call, self._owners.require_organization(call)["username"])

    def of_user(self, call: Call) -> Reply:
        if not self._owners.exists(call.args["username"]):
            raise not_found(f"user redirect does not exist [name: {call.args['username']}]")
        return self._list_of_owner(call, call.args["username"])

    def my_own(self, call: Call) -> Reply:
        """The repositories that the user may write to: all."""
        self._access.require_caller(call)
        return self._list_of_owner(call, "")

    def create(self, call: Call) -> Reply:
        self._access.require_caller(call)
        owner = self._owners.require_organization(call)["username"] if "org" in call.args else VCS_USER
        options = read_body(call, _CREATE, "name")
        name, branch = options["name"], options["default_branch"] or "main"
        _check_name(name)
        if not is_branch_name(branch):
            raise ApiError(422, "[DefaultBranch]: GitRefName")
        if self._repositories.find(owner, name):
            raise ApiError(409, "The repository with the same name already exists.")
        repository = self._repositories.create(owner, name, options["description"], options["private"], branch)
        if options["auto_init"]:
            self._create_initial_commit(repository)
        return gitea_reply(self._document(call, repository), 201)

    def edit(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        options = read_body(call, _EDIT)
        fields = {name: value for name, value in options.items() if value is not None}
        branch = fields.get("default_branch")
        if branch is not None and HEADS + branch not in self._repositories.refs(repository):
            del fields["default_branch"]
        changed = self._repositories.change(repository, **fields, updated=self._context.clock.now())
        return gitea_reply(self._document(call, changed))

    def delete(self, call: Call) -> Reply:
        self._repositories.delete(self._access.to_write(call))
        return Reply(204)

    def _create_initial_commit(self, repository: Repository) -> None:
        person = Person(VCS_USER, EMAIL)
        text = f"# {repository.name}\n\n{repository.description}".encode()
        change = Change({"README.md": text}, "Initial commit\n", person, person, int(self._context.clock.now()))
        self._writer.commit(repository, None, repository.default_branch, change)

    def _list_of_owner(self, call: Call, owner: str) -> Reply:
        matches = [
            repository for repository in self._visible(call) if not owner or repository.owner.lower() == owner.lower()
        ]
        page_items, headers = page(call, [self._document(call, repository) for repository in matches])
        return gitea_reply(page_items, headers=headers)

    def _visible(self, call: Call) -> list[Repository]:
        authenticated = self._access.is_authenticated(call)
        return [repository for repository in self._repositories if authenticated or not repository.private]

    def _document(self, call: Call, repository: Repository) -> Json:
        owner = self._owners.owner_document(repository.owner, call.base)
        empty = not self._repositories.refs(repository)
        return repository_document(
            call.base, repository, owner, empty=empty, may_write=self._access.is_authenticated(call)
        )


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ApiError(422, "[Name]: AlphaDashDot")
    if name in _RESERVED:
        raise ApiError(422, f"name is reserved [name: {name}]")
    end = next((end for end in _RESERVED_ENDS if name.lower().endswith(end)), None)
    if end:
        raise ApiError(422, f"name pattern is not allowed [pattern: *{end}]")
