"""Gitea's API for files."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from csm_emulator.dialects.go_json.types import struct, texts
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import VCS_USER
from csm_emulator.services.vcs.api.records import UNSIGNED, entry_document, file_commit_document, may_push
from csm_emulator.services.vcs.api.repository_content import REPO, RepositoryContentApi
from csm_emulator.services.vcs.auth.accounts import EMAIL
from csm_emulator.services.vcs.git.commits import Change, Person
from csm_emulator.services.vcs.git.git import GitError
from csm_emulator.services.vcs.git.objects import Entry, is_plain
from csm_emulator.services.vcs.git.ref_names import is_branch_name
from csm_emulator.services.vcs.repositories import HEADS, Repository
from csm_emulator.services.vcs.responses import ApiError, gitea_reply, not_found, read_body
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_IDENTITY = struct("structs.Identity", texts("name email"))
_OPTIONS = struct(
    "structs.UpdateFileOptions",
    {**texts("message branch new_branch sha content"), "author": _IDENTITY, "committer": _IDENTITY},
)
_TEXT, _BYTES = "text/plain; charset=utf-8", "application/octet-stream"
_SNIFFED = 512
ContentRule = Callable[[Json, Entry | None, str], bytes | None]
"""(options, existing entry, path) → the new content, or None to delete the file; raises ``ApiError``."""


class ContentsApi(RepositoryContentApi):
    def routes(self) -> list[Route]:
        files = f"{REPO}/contents/{{path...}}"
        return [
            Route("GET", f"{REPO}/contents", self.contents),
            Route("GET", files, self.contents),
            Route("POST", files, lambda call: self._write(call, _new_content, 201)),
            Route("PUT", files, lambda call: self._write(call, _updated_content, 200)),
            Route("DELETE", files, lambda call: self._write(call, _removed_content, 200)),
            Route("GET", f"{REPO}/raw/{{path...}}", self.raw),
        ]

    def contents(self, call: Call) -> Reply:
        repository, ref, commit = self._resolve_ref(call)
        path = call.args.get("path", "").strip("/")
        if not path:
            return gitea_reply(self._folder_documents(call, repository, ref, commit, commit, ""))
        entry = self._reader.entry(repository, commit, path)
        if entry is None:
            raise ApiError(404, "GetContentsOrList", [f"object does not exist [id: , rel_path: {path}]"])
        if entry.kind == "tree":
            return gitea_reply(self._folder_documents(call, repository, ref, commit, entry.sha, f"{path}/"))
        content = self._reader.blob(repository, entry.sha)
        return gitea_reply(entry_document(call.base, repository, entry, ref, commit, content))

    def raw(self, call: Call) -> Reply:
        repository, _, commit = self._resolve_ref(call)
        entry = self._reader.entry(repository, commit, call.args["path"].strip("/"))
        content = self._reader.blob(repository, entry.sha) if entry and entry.kind == "blob" else None
        if content is None:
            raise not_found()
        return Reply(200, content, _BYTES if b"\0" in content[:_SNIFFED] else _TEXT)

    def _resolve_ref(self, call: Call) -> tuple[Repository, str, str]:
        """(repository, requested ref, its commit)."""
        repository = self._access.to_read(call)
        ref = call.first("ref") or repository.default_branch
        commit = self._reader.resolve(repository, ref)
        if commit is None:
            raise not_found(f"object does not exist [id: {ref}, rel_path: ]")
        return repository, ref, commit

    def _folder_documents(
        self, call: Call, repository: Repository, ref: str, commit: str, tree: str, parent_path: str
    ) -> list[Json]:
        entries = self._reader.tree(repository, tree)
        return [
            entry_document(
                call.base,
                repository,
                Entry(entry.mode, entry.kind, entry.sha, entry.size, parent_path + entry.path),
                ref,
                commit,
                None,
            )
            for entry in entries
        ]

    def _write(self, call: Call, content_rule: ContentRule, status: int) -> Reply:
        repository = self._access.to_write(call)
        options, path = read_body(call, _OPTIONS), call.args["path"]
        parent, branch = self._branches(repository, options)
        if not is_plain(path):
            raise ApiError(422, f"path contains a malformed path component [path: {path}]")
        existing = self._reader.entry(repository, parent, path) if parent else None
        content = content_rule(options, existing, path)
        change = self._change(options, path, content, new=existing is None)
        try:
            sha = self._writer.commit(repository, parent, branch, change)
        except GitError as error:
            raise ApiError(422, str(error)) from error
        commit = self._reader.commit(repository, sha)
        entry = None if content is None else self._reader.entry(repository, sha, path)
        content_document = None if entry is None else entry_document(call.base, repository, entry, branch, sha, content)
        commit_document = file_commit_document(call.base, repository, commit)
        return gitea_reply({"content": content_document, "commit": commit_document, "verification": UNSIGNED}, status)

    def _branches(self, repository: Repository, options: Json) -> tuple[str | None, str]:
        """(parent commit, None in an empty repository; branch to update)."""
        refs = self._repositories.refs(repository)
        old = options["branch"] or repository.default_branch
        new = options["new_branch"] or old
        if not (is_branch_name(old) and is_branch_name(new)):
            raise ApiError(422, "[BranchName]: GitRefName")
        if refs and HEADS + old not in refs:
            raise ApiError(404, f"branch does not exist [name: {old}]")
        if new != old and HEADS + new in refs:
            raise ApiError(422, f"branch already exists [name: {new}]")
        if not may_push(repository, new):
            raise ApiError(403, f"user not allowed to commit to protected branch [branch: {new}]")
        return refs.get(HEADS + old), new

    def _change(self, options: Json, path: str, content: bytes | None, *, new: bool) -> Change:
        author, committer = (_person(options[role]) for role in ("author", "committer"))
        fallback = Person(VCS_USER, EMAIL)
        verb = "Delete" if content is None else "Add" if new else "Update"
        message = options["message"].strip() or f"{verb} '{path}'"
        return Change(
            {path: content},
            f"{message}\n",
            author or committer or fallback,
            committer or author or fallback,
            int(self._context.clock.now()),
        )


def _person(fields: Json) -> Person | None:
    """The person; None when the name or the email is empty apart from punctuation, which git refuses."""
    name, email = (fields[part].replace("\0", "").strip(" .,:;<>\"\\'\n") for part in ("name", "email"))
    return Person(name, email) if name and email else None


def _decode_content(options: Json) -> bytes:
    try:
        return base64.b64decode(options["content"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise ApiError(422, "illegal base64 data at input byte 0") from error


def _new_content(options: Json, existing: Entry | None, path: str) -> bytes:
    if existing is not None:
        raise ApiError(422, f"repository file already exists [path: {path}]")
    return _decode_content(options)


def _updated_content(options: Json, existing: Entry | None, path: str) -> bytes:
    _check_sha(options, existing, path)
    return _decode_content(options)


def _removed_content(options: Json, existing: Entry | None, path: str) -> None:
    _check_sha(options, existing, path)


def _check_sha(options: Json, existing: Entry | None, path: str) -> None:
    if not options["sha"]:
        raise ApiError(422, "[SHA]: Required")
    if existing is None:
        raise ApiError(404, f"repository file does not exist [path: {path}]")
    if existing.sha != options["sha"]:
        raise ApiError(422, f"sha does not match [given: {options['sha']}, expected: {existing.sha}]")
