"""Gitea's API of branches and of their protection."""

from __future__ import annotations

from csm_emulator.dialects.go_json.types import BOOL, STRING, maybe, struct
from csm_emulator.records import Json
from csm_emulator.services.vcs.api.records import instant, rule_for, shown_branch
from csm_emulator.services.vcs.api.repository_access import REPO, InsideApi
from csm_emulator.services.vcs.git.git import GitFailed
from csm_emulator.services.vcs.git.ref_names import is_branch_name
from csm_emulator.services.vcs.repositories import HEADS, TAGS, Repository
from csm_emulator.services.vcs.responses import Refusal, form, not_found, page, told
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_CREATE = struct(
    "structs.CreateBranchRepoOption", {"new_branch_name": STRING, "old_branch_name": STRING, "old_ref_name": STRING}
)
_PROTECT = struct(
    "structs.CreateBranchProtectionOption", {"branch_name": STRING, "rule_name": STRING, "enable_push": BOOL}
)
_EDIT = struct("structs.EditBranchProtectionOption", {"enable_push": maybe(BOOL)})


class BranchApi(InsideApi):
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
        shown, headers = page(call, list(names))
        commits = self._reading.commits(repository, [refs[HEADS + name] for name in shown])
        told_of = zip(shown, commits, strict=True)
        return told([shown_branch(call.base, repository, name, at) for name, at in told_of], headers=headers)

    def branch(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        return told(self._shown(call, repository, call.args["branch"]))

    def create(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        refs = self._repositories.refs(repository)
        if not refs:
            raise Refusal(404, "Git Repository is empty.")
        said = form(call, _CREATE, "new_branch_name")
        name = said["new_branch_name"]
        if not is_branch_name(name):
            raise Refusal(422, "[BranchName]: GitRefName")
        at = self._begin_at(repository, said)
        if HEADS + name in refs:
            raise Refusal(409, "The branch already exists.")
        if TAGS + name in refs:
            raise Refusal(409, "The branch with the same tag already exists.")
        try:
            self._writing.set_ref(repository, HEADS + name, at)
        except GitFailed as error:
            # A branch cannot be the folder of another.
            raise Refusal(409, "The branch with the same name already exists.") from error
        return told(self._shown(call, repository, name), 201)

    def _begin_at(self, repository: Repository, said: Json) -> str:
        refs = self._repositories.refs(repository)
        old = said["old_branch_name"] or repository.default_branch
        found = refs.get(HEADS + old)
        if said["old_ref_name"]:
            found = self._reading.resolve(repository, said["old_ref_name"])
        if found is None:
            raise Refusal(404, "The old branch does not exist")
        return found

    def delete(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        name = call.args["branch"]
        if HEADS + name not in self._repositories.refs(repository):
            raise not_found(f"branch does not exist [name: {name}]")
        if name == repository.default_branch:
            raise Refusal(403, "can not delete default branch")
        if rule_for(repository, name) is not None:
            raise Refusal(403, "branch protected")
        self._writing.drop_ref(repository, HEADS + name)
        return Reply(204)

    def _shown(self, call: Call, repository: Repository, name: str) -> Json:
        at = self._repositories.refs(repository).get(HEADS + name)
        if at is None:
            raise not_found(f"branch does not exist [name: {name}]")
        return shown_branch(call.base, repository, name, self._reading.commit(repository, at))

    def protections(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        return told([_rule(name, kept) for name, kept in repository.protected.items()])

    def protection(self, call: Call) -> Reply:
        repository, name = self._rule_of(call)
        return told(_rule(name, repository.protected[name]))

    def protect(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        said = form(call, _PROTECT)
        name = said["rule_name"] or said["branch_name"]
        if not name:
            raise Refusal(400, "both rule_name and branch_name are empty")
        if not is_branch_name(name.replace("*", "x")):
            raise Refusal(422, "[RuleName]: GitRefName")
        if name in repository.protected:
            raise Refusal(403, "Branch protection already exist")
        rule = {"enable_push": said["enable_push"], "created": self._context.clock.now()}
        self._repositories.change(repository, protected={**repository.protected, name: rule})
        return told(_rule(name, rule), 201)

    def edit_protection(self, call: Call) -> Reply:
        repository, name = self._rule_of(call)
        said = form(call, _EDIT)
        rule = dict(repository.protected[name])
        if said["enable_push"] is not None:
            rule["enable_push"] = said["enable_push"]
        self._repositories.change(repository, protected={**repository.protected, name: rule})
        return told(_rule(name, rule))

    def unprotect(self, call: Call) -> Reply:
        repository, gone = self._rule_of(call)
        left = {name: rule for name, rule in repository.protected.items() if name != gone}
        self._repositories.change(repository, protected=left)
        return Reply(204)

    def _rule_of(self, call: Call) -> tuple[Repository, str]:
        repository = self._access.to_write(call)
        if call.args["rule"] not in repository.protected:
            raise not_found()
        return repository, call.args["rule"]


def _rule(name: str, kept: Json) -> Json:
    return {
        "branch_name": name,
        "rule_name": name,
        "enable_push": kept["enable_push"],
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
        "created_at": instant(kept["created"]),
        "updated_at": instant(kept["created"]),
    }
