"""Gitea's API of files."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from csm_emulator.dialects.go_json.types import struct, texts
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import VCS_USER
from csm_emulator.services.vcs.api.records import UNSIGNED, may_push, shown_entry, shown_file_commit
from csm_emulator.services.vcs.api.repository_access import REPO, InsideApi
from csm_emulator.services.vcs.auth.accounts import EMAIL
from csm_emulator.services.vcs.git.commits import Change, Person
from csm_emulator.services.vcs.git.git import GitFailed
from csm_emulator.services.vcs.git.objects import Entry, is_plain
from csm_emulator.services.vcs.git.ref_names import is_branch_name
from csm_emulator.services.vcs.repositories import HEADS, Repository
from csm_emulator.services.vcs.responses import Refusal, form, not_found, told
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_IDENTITY = struct("structs.Identity", texts("name email"))
_OPTIONS = struct(
    "structs.UpdateFileOptions",
    {**texts("message branch new_branch sha content"), "author": _IDENTITY, "committer": _IDENTITY},
)
_TEXT, _BYTES = "text/plain; charset=utf-8", "application/octet-stream"
_SNIFFED = 512
Decide = Callable[[Json, Entry | None, str], bytes | None]
"""(what was said, what is there, path) → the new content, None for none; raises a refusal."""


class ContentsApi(InsideApi):
    def routes(self) -> list[Route]:
        files = f"{REPO}/contents/{{path...}}"
        return [
            Route("GET", f"{REPO}/contents", self.contents),
            Route("GET", files, self.contents),
            Route("POST", files, lambda call: self._write(call, _created, 201)),
            Route("PUT", files, lambda call: self._write(call, _updated, 200)),
            Route("DELETE", files, lambda call: self._write(call, _removed, 200)),
            Route("GET", f"{REPO}/raw/{{path...}}", self.raw),
        ]

    def contents(self, call: Call) -> Reply:
        repository, ref, commit = self._at(call)
        path = call.args.get("path", "").strip("/")
        if not path:
            return told(self._listed(call, repository, ref, commit, commit, ""))
        entry = self._reading.entry(repository, commit, path)
        if entry is None:
            raise Refusal(404, "GetContentsOrList", [f"object does not exist [id: , rel_path: {path}]"])
        if entry.kind == "tree":
            return told(self._listed(call, repository, ref, commit, entry.sha, f"{path}/"))
        content = self._reading.blob(repository, entry.sha)
        return told(shown_entry(call.base, repository, entry, ref, commit, content))

    def raw(self, call: Call) -> Reply:
        repository, _, commit = self._at(call)
        entry = self._reading.entry(repository, commit, call.args["path"].strip("/"))
        content = self._reading.blob(repository, entry.sha) if entry and entry.kind == "blob" else None
        if content is None:
            raise not_found()
        return Reply(200, content, _BYTES if b"\0" in content[:_SNIFFED] else _TEXT)

    def _at(self, call: Call) -> tuple[Repository, str, str]:
        """The repository, what was asked for, and the commit that it is."""
        repository = self._access.to_read(call)
        ref = call.first("ref") or repository.default_branch
        commit = self._reading.resolve(repository, ref)
        if commit is None:
            raise not_found(f"object does not exist [id: {ref}, rel_path: ]")
        return repository, ref, commit

    def _listed(self, call: Call, repository: Repository, ref: str, commit: str, tree: str, above: str) -> list[Json]:
        entries = self._reading.tree(repository, tree)
        return [
            shown_entry(
                call.base,
                repository,
                Entry(entry.mode, entry.kind, entry.sha, entry.size, above + entry.path),
                ref,
                commit,
                None,
            )
            for entry in entries
        ]

    def _write(self, call: Call, decide: Decide, status: int) -> Reply:
        repository = self._access.to_write(call)
        said, path = form(call, _OPTIONS), call.args["path"]
        parent, branch = self._branches(repository, said)
        if not is_plain(path):
            raise Refusal(422, f"path contains a malformed path component [path: {path}]")
        there = self._reading.entry(repository, parent, path) if parent else None
        content = decide(said, there, path)
        change = self._change(said, path, content, new=there is None)
        try:
            sha = self._writing.commit(repository, parent, branch, change)
        except GitFailed as error:
            raise Refusal(422, str(error)) from error
        commit = self._reading.commit(repository, sha)
        entry = None if content is None else self._reading.entry(repository, sha, path)
        shown = None if entry is None else shown_entry(call.base, repository, entry, branch, sha, content)
        made = shown_file_commit(call.base, repository, commit)
        return told({"content": shown, "commit": made, "verification": UNSIGNED}, status)

    def _branches(self, repository: Repository, said: Json) -> tuple[str | None, str]:
        """The commit to go on from (none in an empty repository), and the branch that moves."""
        refs = self._repositories.refs(repository)
        old = said["branch"] or repository.default_branch
        new = said["new_branch"] or old
        if not (is_branch_name(old) and is_branch_name(new)):
            raise Refusal(422, "[BranchName]: GitRefName")
        if refs and HEADS + old not in refs:
            raise Refusal(404, f"branch does not exist [name: {old}]")
        if new != old and HEADS + new in refs:
            raise Refusal(422, f"branch already exists [name: {new}]")
        if not may_push(repository, new):
            raise Refusal(403, f"user not allowed to commit to protected branch [branch: {new}]")
        return refs.get(HEADS + old), new

    def _change(self, said: Json, path: str, content: bytes | None, *, new: bool) -> Change:
        author, committer = (_person(said[role]) for role in ("author", "committer"))
        fallback = Person(VCS_USER, EMAIL)
        verb = "Delete" if content is None else "Add" if new else "Update"
        message = said["message"].strip() or f"{verb} '{path}'"
        return Change(
            {path: content},
            f"{message}\n",
            author or committer or fallback,
            committer or author or fallback,
            int(self._context.clock.now()),
        )


def _person(said: Json) -> Person | None:
    """Git takes no name that is empty but for its punctuation."""
    name, email = (said[part].replace("\0", "").strip(" .,:;<>\"\\'\n") for part in ("name", "email"))
    return Person(name, email) if name and email else None


def _decoded(said: Json) -> bytes:
    try:
        return base64.b64decode(said["content"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise Refusal(422, "illegal base64 data at input byte 0") from error


def _created(said: Json, there: Entry | None, path: str) -> bytes:
    if there is not None:
        raise Refusal(422, f"repository file already exists [path: {path}]")
    return _decoded(said)


def _updated(said: Json, there: Entry | None, path: str) -> bytes:
    _check_sha(said, there, path)
    return _decoded(said)


def _removed(said: Json, there: Entry | None, path: str) -> None:
    _check_sha(said, there, path)


def _check_sha(said: Json, there: Entry | None, path: str) -> None:
    if not said["sha"]:
        raise Refusal(422, "[SHA]: Required")
    if there is None:
        raise Refusal(404, f"repository file does not exist [path: {path}]")
    if there.sha != said["sha"]:
        raise Refusal(422, f"sha does not match [given: {said['sha']}, expected: {there.sha}]")
