"""Valid names of branches and tags."""

from __future__ import annotations

import re

LONGEST = 100
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")


def is_branch_name(name: str) -> bool:
    """Whether ``git check-ref-format --branch`` accepts the name, and it is not longer than Gitea's limit."""
    if not name or len(name) > LONGEST or _FORBIDDEN.search(name):
        return False
    if name[0] in "-/" or name[-1] in "/." or name in ("@", "HEAD"):
        return False
    return not any(part.startswith(".") or part.endswith(".lock") for part in name.split("/"))
