"""The ``pre-receive`` hook: git runs it to check each push."""

from __future__ import annotations

LARGEST_REPOSITORY = 256 << 20
"""Bytes of all unpacked objects: they must be readable, and be copied into the state file while all other work waits.
A pack of a few MB can unpack to thousands of times its size.
"""
MOST_OBJECTS = 250_000
HOOK = f"""#!/bin/sh
# Refuses what Gitea's own hook refuses: pushes to protected branches, and deleting the default branch.
# It also refuses repositories that are too large for an emulator.
set -f
refuse() {{ echo "Gitea: $1" >&2; exit 1; }}
weigh() {{
  git cat-file --batch-all-objects --unordered --batch-check='%(objectsize)' </dev/null | {{
    count=0 total=0
    while read -r size; do count=$((count + 1)) total=$((total + size)); done
    echo "$count" "$total"
  }}
}}
# Without new objects, as when a branch is deleted, the size is not checked.
if [ -n "$GIT_QUARANTINE_PATH" ]; then
  weighed=$(weigh)
  count=${{weighed% *}} total=${{weighed#* }}
  [ "$count" -le {MOST_OBJECTS} ] || refuse "the repository would hold $count objects, \
and may hold {MOST_OBJECTS}; push fewer, or to another repository"
  [ "$total" -le {LARGEST_REPOSITORY} ] || refuse "the repository would hold $((total >> 20)) MB unpacked, \
and may hold {LARGEST_REPOSITORY >> 20}; push less, or to another repository"
fi
nothing=0000000000000000000000000000000000000000
while read -r old new ref; do
  case "$ref" in refs/heads/*) branch=${{ref#refs/heads/}} ;; *) continue ;; esac
  if [ "$branch" = "$VCS_DEFAULT" ] && [ "$new" = "$nothing" ]; then
    refuse "branch $branch is the default branch and cannot be deleted"
  fi
  for rule in $VCS_PROTECTED; do
    case "$branch" in $rule) ;; *) continue ;; esac
    [ "$new" != "$nothing" ] || refuse "branch $branch is protected from deletion"
    if [ "$old" != "$nothing" ] && [ -n "$(git rev-list --max-count=1 "$old" "^$new")" ]; then
      refuse "branch $branch is protected from force push"
    fi
    refuse "Not allowed to push to protected branch $branch"
  done
done
"""
