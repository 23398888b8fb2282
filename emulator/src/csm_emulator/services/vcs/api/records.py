"""Gitea's JSON documents of repositories, branches, commits and files."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta, timezone
from fnmatch import fnmatchcase
from urllib.parse import quote, urlsplit

from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import VCS_USER
from csm_emulator.services.vcs.auth.accounts import EMAIL, user
from csm_emulator.services.vcs.git.objects import Commit, Difference, Entry, Signature
from csm_emulator.services.vcs.repositories import Repository

UNSIGNED = {
    "verified": False,
    "reason": "gpg.error.not_signed_commit",
    "signature": "",
    "signer": None,
    "payload": "",
}


def timestamp(moment: float, zone: str = "+0000") -> str:
    """Format a time as RFC 3339, in the author's time zone."""
    minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    offset = timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    place = timezone(offset) if minutes and abs(offset) < timedelta(days=1) else UTC
    try:
        return datetime.fromtimestamp(int(moment), place).isoformat().replace("+00:00", "Z")
    except (OverflowError, OSError, ValueError):
        return "0001-01-01T00:00:00Z"


def api_url(base: str, repository: Repository) -> str:
    return f"{base}/api/v1/repos/{repository.full_name}"


def repository_document(base: str, repository: Repository, owner: Json, *, empty: bool, may_write: bool) -> Json:
    place = f"{base}/{repository.full_name}"
    return {
        "id": repository.id,
        "owner": owner,
        "name": repository.name,
        "full_name": repository.full_name,
        "description": repository.description,
        "empty": empty,
        "private": repository.private,
        "fork": False,
        "template": False,
        "parent": None,
        "mirror": False,
        "size": 0 if empty else 64,
        "language": "",
        "languages_url": f"{api_url(base, repository)}/languages",
        "html_url": place,
        "ssh_url": f"git@{urlsplit(base).hostname}:{repository.full_name}.git",
        "clone_url": f"{place}.git",
        "original_url": "",
        "website": "",
        "stars_count": 0,
        "forks_count": 0,
        "watchers_count": 1,
        "open_issues_count": 0,
        "open_pr_counter": 0,
        "release_counter": 0,
        "default_branch": repository.default_branch,
        "archived": False,
        "created_at": timestamp(repository.created),
        "updated_at": timestamp(repository.updated),
        "permissions": {"admin": may_write, "push": may_write, "pull": True},
        "has_issues": True,
        "internal_tracker": {
            "enable_time_tracker": True,
            "allow_only_contributors_to_track_time": True,
            "enable_issue_dependencies": True,
        },
        "has_wiki": True,
        "has_pull_requests": True,
        "has_projects": True,
        "ignore_whitespace_conflicts": False,
        "allow_merge_commits": True,
        "allow_rebase": True,
        "allow_rebase_explicit": True,
        "allow_squash_merge": True,
        "default_merge_style": "merge",
        "avatar_url": "",
        "internal": False,
        "mirror_interval": "",
        "mirror_updated": "0001-01-01T00:00:00Z",
        "repo_transfer": None,
    }


def rule_for(repository: Repository, branch: str) -> str | None:
    """The first protection rule that matches the branch: its own, or one with wildcards."""
    if branch in repository.protected:
        return branch
    return next((rule for rule in repository.protected if fnmatchcase(branch, rule)), None)


def may_push(repository: Repository, branch: str) -> bool:
    rule = rule_for(repository, branch)
    return rule is None or bool(repository.protected[rule]["enable_push"])


def branch_document(base: str, repository: Repository, name: str, commit: Commit) -> Json:
    rule = rule_for(repository, name)
    return {
        "name": name,
        "commit": {
            "id": commit.sha,
            "message": commit.message,
            "url": f"{base}/{repository.full_name}/commit/{commit.sha}",
            "author": _payload_user(commit.author),
            "committer": _payload_user(commit.committer),
            "verification": UNSIGNED,
            "timestamp": timestamp(commit.committer.moment, commit.committer.zone),
            "added": None,
            "removed": None,
            "modified": None,
        },
        "protected": rule is not None,
        "required_approvals": 0,
        "enable_status_check": False,
        "status_check_contexts": [],
        "user_can_push": may_push(repository, name),
        "user_can_merge": True,
        "effective_branch_protection_name": rule or "",
    }


def _payload_user(signature: Signature) -> Json:
    return {"name": signature.name, "email": signature.email, "username": VCS_USER if signature.email == EMAIL else ""}


def commit_document(base: str, repository: Repository, commit: Commit, difference: Difference | None) -> Json:
    url = f"{api_url(base, repository)}/git/commits/{commit.sha}"
    files = [{"filename": path} for path, _, _ in difference.files] if difference else []
    added = sum(lines for _, lines, _ in difference.files) if difference else 0
    removed = sum(lines for _, _, lines in difference.files) if difference else 0
    return {
        **commit_reference(base, repository, commit.sha, commit.committer),
        "html_url": f"{base}/{repository.full_name}/commit/{commit.sha}",
        "commit": {
            "url": url,
            "author": identity_document(commit.author),
            "committer": identity_document(commit.committer),
            "message": commit.message,
            "tree": _tree(base, repository, commit),
            "verification": UNSIGNED,
        },
        "author": user(base) if commit.author.email == EMAIL else None,
        "committer": user(base) if commit.committer.email == EMAIL else None,
        "parents": [_parent(base, repository, parent) for parent in commit.parents],
        "files": files,
        "stats": {"total": added + removed, "additions": added, "deletions": removed},
    }


def commit_reference(base: str, repository: Repository, sha: str, signature: Signature) -> Json:
    created = timestamp(signature.moment, signature.zone)
    return {"url": f"{api_url(base, repository)}/git/commits/{sha}", "sha": sha, "created": created}


def identity_document(signature: Signature) -> Json:
    return {"name": signature.name, "email": signature.email, "date": timestamp(signature.moment, signature.zone)}


def _parent(base: str, repository: Repository, sha: str) -> Json:
    return {"url": f"{api_url(base, repository)}/git/commits/{sha}", "sha": sha, "created": "0001-01-01T00:00:00Z"}


def _tree(base: str, repository: Repository, commit: Commit) -> Json:
    created = timestamp(commit.committer.moment, commit.committer.zone)
    return {"url": f"{api_url(base, repository)}/git/trees/{commit.tree}", "sha": commit.tree, "created": created}


def file_commit_document(base: str, repository: Repository, commit: Commit) -> Json:
    return {
        **commit_reference(base, repository, commit.sha, commit.committer),
        "html_url": f"{base}/{repository.full_name}/commit/{commit.sha}",
        "author": identity_document(commit.author),
        "committer": identity_document(commit.committer),
        "parents": [_parent(base, repository, parent) for parent in commit.parents],
        "message": commit.message,
        "tree": _tree(base, repository, commit),
    }


_KINDS = {"120000": "symlink", "160000": "submodule", "040000": "dir"}


def entry_document(
    base: str, repository: Repository, entry: Entry, ref: str, commit: str, content: bytes | None
) -> Json:
    """``content`` is that of a file, or the target of a symbolic link; None leaves it out."""
    kind = _KINDS.get(entry.mode, "file")
    path = quote(entry.path)
    place = f"{api_url(base, repository)}/contents/{path}?ref={quote(ref)}"
    page = f"{base}/{repository.full_name}/src/commit/{commit}/{path}"
    git = f"{api_url(base, repository)}/git/{entry.kind}s/{entry.sha}"
    return {
        "name": entry.path.rsplit("/", 1)[-1],
        "path": entry.path,
        "sha": entry.sha,
        "type": kind,
        "size": entry.size,
        "encoding": "base64" if content is not None and kind == "file" else None,
        "content": b64encode(content).decode() if content is not None and kind == "file" else None,
        "target": content.decode(errors="replace") if content is not None and kind == "symlink" else None,
        "url": place,
        "html_url": page,
        "git_url": git,
        "download_url": f"{base}/{repository.full_name}/raw/commit/{commit}/{path}" if kind == "file" else None,
        "submodule_git_url": None,
        "_links": {"self": place, "git": git, "html": page},
    }
