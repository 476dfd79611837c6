"""Comparisons of hostile templates, as whole processes: what is said of each, how long it takes, and how much memory the asking process needs.

Base has a harmless template of each name, so that whatever comes of the hostile one is a difference.
"""

import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.changes import write
from tests.conftest import ROOT
from tests.hostile.kinds import Hostile

PROBE = "a user message"
HARMLESS = "harmless: {{ messages | length }}"
SYNTAX = "chat-template-syntax-error"
# The command line, and at its end the most memory that its own process had, in KiB: that of the child is not counted. The kernel's VmHWM
# starts anew with a program; what getrusage says does not, and would be that of the tests.
_ASK = """
import os, sys
end = os._exit
def told(status):
    sys.stdout.flush()
    with open("/proc/self/status") as state:
        most = next(line.split()[1] for line in state if line.startswith("VmHWM:"))
    sys.stderr.write(f"\\n{most}\\n")
    sys.stderr.flush()
    end(status)
os._exit = told
sys.path.insert(0, sys.argv.pop(1))
from bot.__main__ import main
main()
"""


class Ran(msgspec.Struct, frozen=True):
    """One comparison: its exit status, the report, what was said on standard error, its time, and the memory of the asking process in MiB."""

    status: int
    report: dict[str, Any]
    errors: str
    seconds: float
    megabytes: int


def run(work: Path, templates: Mapping[str, str]) -> Ran:
    """Compare a folder with harmless templates to one with these."""
    names = {f"additional_chat_templates/{name}.jinja": text for name, text in templates.items()}
    plain = {"chat_template.jinja": "{% for m in messages %}{{ m.content }}{% endfor %}"}
    base = write(work / "base", "chatml", {**plain, **dict.fromkeys(names, HARMLESS)})
    head = write(work / "head", "chatml", {**plain, **names, "generation_config.json": {"eos_token_id": 260}})
    asked = ["compare", str(base), str(head), "--format", "json", "--prove", "never", "--fail-on", "never"]
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", _ASK, str(ROOT), *asked], check=False, capture_output=True, cwd=work)
    seconds = time.monotonic() - start
    said, _, memory = done.stderr.decode().rstrip().rpartition("\n")
    report = json.loads(done.stdout) if done.returncode == 0 else {}
    return Ran(done.returncode, report, said, seconds, int(memory) // 1024)


def verdicts(ran: Ran, templates: Mapping[str, Hostile]) -> dict[str, str]:
    """What is said of each template, in the words of `Hostile.gives`; a text that is the expected one as "= " and the text, else as "= " and its hash."""
    places = {f"additional_chat_templates/{name}.jinja": name for name in templates}
    found = dict.fromkeys(templates, "nothing")
    for row in ran.report["prompts"]:
        if row["probe"] == PROBE and row["template"] in templates:
            found[row["template"]] = _outcome(row, templates[row["template"]].gives)
    for row in ran.report["unchecked"]:
        if row["id"] == "prompts" and re.match(f"the prompts? for `{PROBE}`", row["reason"]):
            found.update({places[place["path"]]: "limits" for place in row["places"] if place["path"] in places})
    broken = {place["path"] for row in ran.report["new"] if row["check"] == SYNTAX for place in row["places"]}
    for path, name in places.items():
        if path in broken:
            found[name] = "syntax" if found[name] not in ("limits", "nothing") else f"{found[name]}, and called broken"
    return found


def _outcome(row: dict[str, Any], expected: str) -> str:
    if row["after_error"]:
        kind = row["after_error"].partition(":")[0]
        return "declined" if kind == "TemplateError" else kind
    text = expected.removeprefix("= ")
    same = row["after_sha256"] == hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return expected if same else f"= {row['after_sha256']}"


def called_broken(ran: Ran, name: str) -> list[str]:
    """The errors that are found in a template."""
    path = f"additional_chat_templates/{name}.jinja"
    rows = [row for row in ran.report["new"] if row["severity"] == "error"]
    return [row["check"] for row in rows if any(place["path"] == path for place in row["places"])]


def rest_is_told(ran: Ran) -> bool:
    """Whether the change that has nothing to do with templates is found, whatever they do."""
    return "eos-split-brain" in {row["check"] for row in ran.report["new"]}
