"""Gitea's API for branches and branch protection."""

from __future__ import annotations

from csm_emulator.dialects.go_json.types import BOOL, STRING, pointer_to, struct
from csm_emulator.records import Json
from csm_emulator.services.vcs.api.records import branch_document, rule_for, timestamp
from csm_emulator.services.vcs.api.repository_content import REPO, RepositoryContentApi
from csm_emulator.services.vcs.git.git import GitError
from csm_emulator.services.vcs.git.ref_names import is_branch_name
from csm_emulator.services.vcs.repositories import HEADS, TAGS, Repository
from csm_emulator.services.vcs.responses import ApiError, gitea_reply, not_found, page, read_body
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_CREATE = struct(
    "structs.CreateBranchRepoOption", {"new_branch_name": STRING, "old_branch_name": STRING, "old_ref_name": STRING}
)
_PROTECT = struct(
    "structs.CreateBranchProtectionOption", {"branch_name": STRING, "rule_name": STRING, "enable_push": BOOL}
)
_EDIT = struct("structs.EditBranchProtectionOption", {"enable_push": pointer_to(BOOL)})


class BranchApi(RepositoryContentApi):
    def routes(self) -> list[Route]:
        return [
            Route("GET", f"{REPO}/branches", self.branches),
            Route("POST", f"{REPO}/branches", self.create),
            Route("GET", f"{REPO}/branches/{{branch...}}", self.branch),
            Route("DELETE", f"{REPO}/branches/{{branch...}}", self.delete),
            Route("GET", f"{REPO}/branch_protections", self.protections),
            Route("POST", f"{REPO}/branch_protections", self.protect),
            Route("GET", f"{REPO}/branch_protections/{{rule...}}", self.protection),
            Route("PATCH", f"{REPO}/branch_protections/{{rule...}}", self.edit_protection),
            Route("DELETE", f"{REPO}/branch_protections/{{rule...}}", self.unprotect),
        ]

    def branches(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        refs = self._repositories.refs(repository)
        names = [name.removeprefix(HEADS) for name in refs if name.startswith(HEADS)]
        page_names, headers = page(call, list(names))
        commits = self._reader.commits(repository, [refs[HEADS + name] for name in page_names])
        pairs = zip(page_names, commits, strict=True)
        return gitea_reply(
            [branch_document(call.base, repository, name, commit) for name, commit in pairs], headers=headers
        )

    def branch(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        return gitea_reply(self._branch_document(call, repository, call.args["branch"]))

    def create(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        refs = self._repositories.refs(repository)
        if not refs:
            raise ApiError(404, "Git Repository is empty.")
        options = read_body(call, _CREATE, "new_branch_name")
        name = options["new_branch_name"]
        if not is_branch_name(name):
            raise ApiError(422, "[BranchName]: GitRefName")
        sha = self._start_commit(repository, options)
        if HEADS + name in refs:
            raise ApiError(409, "The branch already exists.")
        if TAGS + name in refs:
            raise ApiError(409, "The branch with the same tag already exists.")
        try:
            self._writer.set_ref(repository, HEADS + name, sha)
        except GitError as error:
            # A branch name cannot be the parent folder of another branch.
            raise ApiError(409, "The branch with the same name already exists.") from error
        return gitea_reply(self._branch_document(call, repository, name), 201)

    def _start_commit(self, repository: Repository, options: Json) -> str:
        refs = self._repositories.refs(repository)
        old_branch = options["old_branch_name"] or repository.default_branch
        sha = refs.get(HEADS + old_branch)
        if options["old_ref_name"]:
            sha = self._reader.resolve(repository, options["old_ref_name"])
        if sha is None:
            raise ApiError(404, "The old branch does not exist")
        return sha

    def delete(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        name = call.args["branch"]
        if HEADS + name not in self._repositories.refs(repository):
            raise not_found(f"branch does not exist [name: {name}]")
        if name == repository.default_branch:
            raise ApiError(403, "can not delete default branch")
        if rule_for(repository, name) is not None:
            raise ApiError(403, "branch protected")
        self._writer.drop_ref(repository, HEADS + name)
        return Reply(204)

    def _branch_document(self, call: Call, repository: Repository, name: str) -> Json:
        sha = self._repositories.refs(repository).get(HEADS + name)
        if sha is None:
            raise not_found(f"branch does not exist [name: {name}]")
        return branch_document(call.base, repository, name, self._reader.commit(repository, sha))

    def protections(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        return gitea_reply([_rule_document(name, rule) for name, rule in repository.protected.items()])

    def protection(self, call: Call) -> Reply:
        repository, name = self._rule_of(call)
        return gitea_reply(_rule_document(name, repository.protected[name]))

    def protect(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        options = read_body(call, _PROTECT)
        name = options["rule_name"] or options["branch_name"]
        if not name:
            raise ApiError(400, "both rule_name and branch_name are empty")
        if not is_branch_name(name.replace("*", "x")):
            raise ApiError(422, "[RuleName]: GitRefName")
        if name in repository.protected:
            raise ApiError(403, "Branch protection already exist")
        rule = {"enable_push": options["enable_push"], "created": self._context.clock.now()}
        self._repositories.change(repository, protected={**repository.protected, name: rule})
        return gitea_reply(_rule_document(name, rule), 201)

    def edit_protection(self, call: Call) -> Reply:
        repository, name = self._rule_of(call)
        options = read_body(call, _EDIT)
        rule = dict(repository.protected[name])
        if options["enable_push"] is not None:
            rule["enable_push"] = options["enable_push"]
        self._repositories.change(repository, protected={**repository.protected, name: rule})
        return gitea_reply(_rule_document(name, rule))

    def unprotect(self, call: Call) -> Reply:
        repository, removed_rule = self._rule_of(call)
        remaining = {name: rule for name, rule in repository.protected.items() if name != removed_rule}
        self._repositories.change(repository, protected=remaining)
        return Reply(204)

    def _rule_of(self, call: Call) -> tuple[Repository, str]:
        repository = self._access.to_write(call)
        if call.args["rule"] not in repository.protected:
            raise not_found()
        return repository, call.args["rule"]


def _rule_document(name: str, rule: Json) -> Json:
    return {
        "branch_name": name,
        "rule_name": name,
        "enable_push": rule["enable_push"],
        "enable_push_whitelist": False,
        "push_whitelist_usernames": [],
        "push_whitelist_teams": [],
        "push_whitelist_deploy_keys": False,
        "enable_merge_whitelist": False,
        "merge_whitelist_usernames": [],
        "merge_whitelist_teams": [],
        "enable_status_check": False,
        "status_check_contexts": [],
        "required_approvals": 0,
        "enable_approvals_whitelist": False,
        "approvals_whitelist_username": [],
        "approvals_whitelist_teams": [],
        "block_on_rejected_reviews": False,
        "block_on_official_review_requests": False,
        "block_on_outdated_branch": False,
        "dismiss_stale_approvals": False,
        "require_signed_commits": False,
        "protected_file_patterns": "",
        "unprotected_file_patterns": "",
        "created_at": timestamp(rule["created"]),
        "updated_at": timestamp(rule["created"]),
    }
