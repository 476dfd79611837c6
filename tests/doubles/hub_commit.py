"""Commits that clients make through the Hub's API."""

import base64
import json
from typing import Any

from werkzeug.wrappers import Request

from tests.doubles.hub_community import Answer, Community, Json
from tests.doubles.hub_git import HubRepository


def preupload(repository: HubRepository, request: Request) -> Json:
    """Say of each file how it is to be sent."""
    files = request.get_json()["files"]
    return {
        "files": [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"] in repository.lfs else "regular",
                "shouldIgnore": False,
                "oid": None,
            }
            for file in files
        ]
    }


def commit(repository: HubRepository, community: Community, request: Request, revision: str, url: str) -> Answer:
    """Make a real commit, on the revision or on a new pull request."""
    lines: list[Any] = [json.loads(line) for line in request.get_data(as_text=True).splitlines() if line.strip()]
    header = next(line["value"] for line in lines if line["key"] == "header")
    parent = repository.sha(revision)
    if header.get("parentCommit", parent) != parent:
        return 412, {"error": "A commit has happened since. Please refresh and try again."}
    index = {"GIT_INDEX_FILE": f"{repository.git('rev-parse', '--absolute-git-dir')}/double-index"}
    repository.git("read-tree", parent, variables=index)
    for line in lines:
        value = line["value"]
        if line["key"] == "file":
            oid = repository.git("hash-object", "-w", "--stdin", stdin=base64.b64decode(value["content"]))
            repository.git("update-index", "--add", "--cacheinfo", f"100644,{oid},{value['path']}", variables=index)
        elif line["key"] == "deletedFile":
            repository.git("update-index", "--force-remove", value["path"], variables=index)
    message = f"{header['summary']}\n\n{header.get('description', '')}".strip() + "\n"
    sha = repository.git("commit-tree", repository.git("write-tree", variables=index), "-p", parent, stdin=message.encode())
    said = {"success": True, "commitOid": sha, "commitUrl": f"{url}/{repository.name}/commit/{sha}", "hookOutput": ""}
    if request.args.get("create_pr") == "1":
        number = community.open(header["summary"], header.get("description", ""), author=community.me)
        repository.git("update-ref", f"refs/pr/{number}", sha)
        return 200, said | {"pullRequestUrl": f"{url}/{repository.name}/discussions/{number}"}
    repository.git("update-ref", revision if revision.startswith("refs/") else f"refs/heads/{revision}", sha)
    return 200, said
