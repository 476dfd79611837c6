"""The process that reads a repository: what it cannot do, and that a hostile template costs only its own answer."""

import errno
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from jinja2.filters import FILTERS
from jinja2.tests import TESTS

from bot import run
from bot.analyze import child, jail
from bot.analyze.comparison import compare
from bot.analyze.model.reader import Reader
from bot.analyze.records import Comparison
from bot.errors import CannotLookError
from bot.fetch.gather import gather
from bot.publish import comment, links
from bot.publish.text import text as as_text
from bot.snapshot import Exchange
from tests.changes import write
from tests.conftest import SHARED, present
from tests.properties.folders import with_value
from tests.properties.test_fuzz import FULL, SURROGATES

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limits are Linux's")
LATE = ("ImportError", "ModuleNotFoundError", "LookupError", "unknown encoding", "Permission", "broke")

# What the child tries, after it has confined itself; the answers go to standard output as JSON.
PROBE = """
import ctypes, errno, json, os, socket, subprocess, sys, threading
sys.path.append(sys.argv.pop(1))
from bot.analyze.limits import confine
folder = sys.stdin.readline().rstrip("\\n")
missing = confine(seconds=20, memory=1 << 30)
def tried(work):
    try:
        return str(work())
    except OSError as error:
        return errno.errorcode[error.errno]
    except MemoryError:
        return "MemoryError"
def written(path):
    with open(path, "w") as file:
        file.write("x")
        file.flush()
libc = ctypes.CDLL(None, use_errno=True)
def called(number, *arguments):
    done = libc.syscall(number, *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return done
threads = []
thread = threading.Thread(target=threads.append, args=(1,))
thread.start()
thread.join()
print(json.dumps({
    "missing": missing,
    "environment": dict(os.environ),
    "uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(),
    "arguments": [*sys.argv[1:], folder],
    "threads": threads,
    "socket": tried(lambda: socket.socket()),
    "socket unix": tried(lambda: socket.socket(socket.AF_UNIX)),
    "socket v6 udp": tried(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)),
    "socketpair": tried(lambda: socket.socketpair()),
    "exec": tried(lambda: os.execv("/bin/true", ["true"])),
    "subprocess": tried(lambda: subprocess.run(["/bin/true"])),
    "write": tried(lambda: written("/tmp/model-repo-drift-%d" % os.getpid())),
    "write beside": tried(lambda: written(os.path.join(folder, "x"))),
    "write over": tried(lambda: written(os.path.join(folder, "exchange.json"))),
    "environ of the parent": tried(lambda: len(open("/proc/%d/environ" % os.getppid(), "rb").read())),
    "memory of the parent": tried(lambda: open("/proc/%d/mem" % os.getppid(), "rb")),
    "root again": tried(lambda: os.setuid(0)) if os.getuid() else "",
    "much memory": tried(lambda: len(bytearray(2 << 30))),
    "unshare": tried(lambda: called({"x86_64": 272, "aarch64": 97}[os.uname().machine], 0x10000000)),
    "ptrace": tried(lambda: called({"x86_64": 101, "aarch64": 117}[os.uname().machine], 16, os.getppid(), 0, 0)),
    "io_uring": tried(lambda: called(425, 8, 0)),
}))
sys.stdout.flush()
os._exit(0)
"""


# The real child behind a wall: once it has confined itself, nothing is imported and no path is opened any more.
WALLED = """
import sys
sys.path.append(sys.argv.pop(1))
import bot.analyze.limits as limits
real = limits.confine
class Wall:
    def find_spec(self, name, path=None, target=None):
        raise ModuleNotFoundError("imported too late: " + name)
def opened(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and "/" in arguments[0]:
        raise PermissionError("opened too late: " + arguments[0])
def confine(**limited):
    missing = real(**limited)
    sys.meta_path.insert(0, Wall())
    sys.addaudithook(opened)
    return missing
limits.confine = confine
import runpy
runpy.run_module("bot.analyze", run_name="__main__", alter_sys=True)
"""


def cell() -> Any:
    """A child with the environment that `run` gives it."""
    return jail.Cell(os.environ)


@pytest.fixture
def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The answers of a child that was started as the real one is."""
    monkeypatch.setattr(child, "START", PROBE)
    for name in ("GITHUB_TOKEN", "INPUT_TOKEN", "HF_TOKEN", "ACTIONS_RUNTIME_TOKEN", "HOME", "PYTHONPATH", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, f"secret of {name}")
    with cell() as started:
        ended = started._once(tmp_path)
    assert ended.status == 0, ended.errors
    return json.loads(ended.output)


@linux
def test_the_child_has_no_secret_and_no_way_out(probed: dict[str, Any], tmp_path: Path) -> None:
    assert probed["missing"] == []
    kept = {"PATH", "LD_LIBRARY_PATH", "LC_ALL", "LC_CTYPE", "TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS"}
    assert probed["environment"].keys() <= kept
    assert "secret" not in json.dumps(probed["environment"])
    assert probed["arguments"] == [str(tmp_path)]
    assert probed["threads"] == [1], "a library may need a thread"
    for what in ("socket", "socket unix", "socket v6 udp", "socketpair", "exec", "subprocess", "unshare", "ptrace", "io_uring"):
        assert probed[what] == "EPERM", what
    for what in ("write", "write beside", "write over"):
        assert probed[what] in ("EFBIG", "EACCES", "EPERM", "EROFS", "ENOENT"), what
    for what in ("environ of the parent", "memory of the parent"):
        assert probed[what] in ("EACCES", "EPERM"), what
    assert probed["much memory"] == "MemoryError"


@linux
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_the_child_of_root_is_nobody(probed: dict[str, Any]) -> None:
    assert (probed["uid"], probed["gid"], probed["groups"]) == (65534, 65534, [])
    assert probed["root again"] == "EPERM"


def test_the_errors_have_names() -> None:
    assert {errno.errorcode[number] for number in (1, 13, 27, 30)} == {"EPERM", "EACCES", "EFBIG", "EROFS"}


def in_jail(exchange: Path) -> Comparison:
    with cell() as started:
        return started.run(exchange, Comparison)


def sides(tmp_path: Path, template: str, *, inline: Any = "<absent>") -> dict[str, Any]:
    """Head with the template, and with an EOS of its own that has to be told whatever the template does."""
    changes = {"generation_config.json": {"eos_token_id": 260}, "config.json": {"eos_token_id": 260}}
    config = {"tokenizer_config.json": {"chat_template": inline}}
    base = write(tmp_path / "base", "chatml", config)
    head = write(tmp_path / "head", "chatml", {**config, **changes, "chat_template.jinja": template})
    return {"base": str(base), "head": str(head), "repo": tmp_path, "prove": "never"}


def unrendered(comparison: Comparison) -> list[str]:
    return [each.reason for each in comparison.unchecked if each.places and each.places[0].path == "chat_template.jinja"]


def rest_is_told(comparison: Comparison) -> None:
    assert "eos-split-brain" in {finding.check for finding in comparison.new}
    assert {change.field for change in comparison.predictions} >= {"stops"}
    assert [each.reason for each in comparison.unchecked if any(word in each.reason for word in LATE)] == []


# These end by themselves or by the timer inside the child.
ENDING = {
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% set x = i * j %}{% endfor %}{% endfor %}",
    "loops that write": "{% for i in range(99999) %}{% for j in range(99999) %}{{ 'x' * 1000 }}{% endfor %}{% endfor %}",
    "a power": "{{ 10**(10**8) }}",
    "a power of a value": "{% set n = (messages | length) * 10**8 %}{{ (3 ** n) % 7 }}",
    "a long text": "{{ 'x' * 10**10 }}",
    "a long list": "{{ [0] * 10**10 }}",
    "a growing text": "{% set n = namespace(a='x') %}{% for i in range(99) %}{% set n.a = n.a ~ n.a %}{% endfor %}{{ n.a }}",
    "a growing list": "{% set n = namespace(a=[0]) %}{% for i in range(99) %}{% set n.a = n.a + n.a %}{% endfor %}{{ n.a }}",
    "recursion": "{% macro f(x) %}{{ f(x + 1) }}{% endmacro %}{{ f(0) }}",
    "a recursive loop": "{% set n = namespace(a=[]) %}{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}",
    "deep brackets": "{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}",
    "deep lists": "{{ " + "[" * 5_000 + "]" * 5_000 + " }}",
    "deep blocks": "{% if 1 %}" * 3_000 + "{% endif %}" * 3_000,
    "a long sum": "{{ " + "+".join(["1"] * 50_000) + " }}",
    "a giant replace": "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}",
    "a wide number": "{{ '%099999999999d' % 1 }}",
    "a wide format": "{{ '{:>99999999999}'.format(1) }}",
    "centre": "{{ 'x' | center(99999999999) }}",
    "a huge range": "{{ range(10**12) | list | length }}",
    "a big join": "{{ (['x' * 10**6] * 10**5) | join }}",
    "indent": "{{ ('x\\n' * 10**7) | indent(1000) | length }}",
    "words": "{{ lipsum(n=99999999) }}",
}


@linux
@pytest.mark.parametrize("name", ENDING)
def test_a_template_beyond_the_limits_costs_its_own_answer_only(name: str, tmp_path: Path) -> None:
    comparison = run.compare(**sides(tmp_path, ENDING[name]))
    rest_is_told(comparison)
    assert unrendered(comparison), "that the template could not be seen has to be said"


# These run in C, where no timer of Python comes through: the parent kills the child.
KILLING = {
    "adding lists up": "{{ ([[0] * 100] * 10**5) | sum(start=[]) | length }}",
    "adding lists of the conversation up": "{{ ([[messages] * 100] * 10**5) | sum(start=[]) | length }}",
}


@linux
@pytest.mark.parametrize("name", KILLING)
def test_a_template_that_hangs_in_c_is_left_out_of_a_second_try(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jail, "SECONDS", 8.0)
    comparison = run.compare(**sides(tmp_path, KILLING[name]))
    rest_is_told(comparison)
    assert any("it had to be killed" in reason for reason in unrendered(comparison)), comparison.unchecked


@linux
def test_a_copy_inside_the_configuration_is_left_out_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail, "SECONDS", 6.0)
    arguments = sides(
        tmp_path,
        "{% for m in messages %}{{ m.content }}{% endfor %}",
        inline="{{ ([[0] * 100] * 10**5) | sum(start=[]) | length }}",
    )
    rest_is_told(run.compare(**arguments))


def test_what_writes_too_much_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail, "LARGEST", 1000)
    with pytest.raises(CannotLookError, match="its output is larger than"):
        run.compare(**sides(tmp_path, "x"))


def test_what_takes_too_long_by_itself_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jail, "SECONDS", 0.01)
    with pytest.raises(CannotLookError, match=r"it took longer than 0\.01 s"):
        run.compare(**sides(tmp_path, "x"))


@linux
@pytest.mark.parametrize("name", ["loops", "a long text", "recursion", "deep brackets"])
def test_limits_import_nothing_too_late(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "START", WALLED)
    rest_is_told(run.compare(**sides(tmp_path, ENDING[name])))


NAMES = sorted(FILTERS)
# Every filter, test and global of the environment once; some with values that they refuse.
PARTS = {
    **{f"filter {name}": f"{{{{ ['b', 'a'] | {name} }}}}{{{{ 1.5 | {name} }}}}" for name in NAMES},
    **{f"filter {name} of text": f"{{{{ 'http://x.y <b>\\n&amp; é' | {name} }}}}" for name in NAMES},
    **{f"test {name}": f"{{{{ 'a' is {name} }}}}" for name in TESTS},
    **{
        f"global {name}": f"{{{{ {name}(3) }}}}{{{{ {name} }}}}"
        for name in ("range", "dict", "lipsum", "cycler", "joiner", "namespace")
    },
    "sorting": "{{ messages | groupby('role') | list }}{{ {'b': 1, 'a': 2} | dictsort }}{{ [1, 2] | batch(1) | list }}",
    "formats": "{{ '%s %r %d' | format(1, 2, 3) }}{{ '{:>9,.2f}'.format(1.5) }}{{ 'é'.encode('idna') }}{{ 'x'.encode('punycode') }}",
    "time": "{{ strftime_now('%c %x %X %p %Z %U') }}",
    "unicode": "{{ 'ß'.casefold() }}{{ 'İ'.lower() }}{{ 'a b'.title() }}{{ '①'.isnumeric() }}",
}


@linux
def test_no_part_of_a_template_is_imported_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "START", WALLED)
    arguments = sides(tmp_path, "{{ messages }}")
    folder = tmp_path / "head" / "additional_chat_templates"
    folder.mkdir()
    for i, text in enumerate(PARTS.values()):
        (folder / f"t{i:03}.jinja").write_text(text, "utf-8")
    comparison = run.compare(**arguments)
    names = list(PARTS)
    seen = {
        names[int(place.path[-9:-6])]: each.reason
        for each in comparison.unchecked
        for place in each.places
        if "additional_chat_templates/" in place.path
    }
    assert len(seen) > 50
    for name in ("filter striptags of text", "global lipsum"):  # these import late, and must have been rendered
        assert seen[name].startswith("the rendered prompt does not show"), seen[name]
    assert {name: reason for name, reason in seen.items() if "too late" in reason or "LookupError" in reason} == {}


def test_the_wall_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for late in ("import colorsys", "open('/etc/hostname')"):
        again = WALLED.replace("    return missing", f"    {late}\n    return missing")
        monkeypatch.setattr(child, "START", again)
        with pytest.raises(CannotLookError, match="too late: "):
            run.compare(**sides(tmp_path, "x"))


def test_an_exchange_that_is_none_is_said_in_one_line(tmp_path: Path) -> None:
    arguments = sides(tmp_path, "x")
    gather(tmp_path / "exchange", base=arguments["base"], head=arguments["head"], repo=tmp_path)
    for content in (tmp_path / "exchange" / "contents").iterdir():
        content.unlink()
    with pytest.raises(CannotLookError, match="could not be analyzed: the analysis ended with") as caught:
        in_jail(tmp_path / "exchange")
    assert "\n" not in str(caught.value)


def test_lone_surrogates_come_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One model for each place where a text can hold half a character; all cross from the child as one JSON."""
    monkeypatch.setattr(child, "START", WALLED)
    for i, (name, pointer) in enumerate(SURROGATES):
        for side in ("base", "head"):
            files = FULL if side == "base" else {**FULL, name: with_value(FULL[name], pointer, "\ud800")}
            (tmp_path / side / f"m{i}").mkdir(parents=True)
            for path, content in files.items():
                (tmp_path / side / f"m{i}" / path).write_bytes(content)
    comparison = run.compare(base=str(tmp_path / "base"), head=str(tmp_path / "head"), repo=tmp_path, prove="never")
    assert {model.folder for model in comparison.models} == {f"m{i}" for i in range(len(SURROGATES))}
    assert [each.reason for each in comparison.unchecked if any(word in each.reason for word in LATE)] == []
    for view in (as_text(comparison, color=False, verbose=True), comment.comment(comparison, links=links.Links())):
        assert "\\ud800" in view
        assert view.encode()


def groups() -> dict[str, list[Path]]:
    """Every folder of the shared material that has two sides, a few dozen together: one child reads them all."""
    if not present("shared"):
        return {}
    pairs = [path for kind in ("corpus", "cases") for path in sorted((SHARED / kind).iterdir()) if (path / "base").is_dir()]
    hostile = [path for path in pairs if "reaches-for-dunders" in path.name]
    rest = [path for path in pairs if path not in hostile]
    return {f"group {i}": rest[i::6] for i in range(6)} | {"hostile": hostile}


def same_as_outside(tmp_path: Path, found: list[Path]) -> Comparison:
    """Compare folders side by side, in the jail and in this process; both have to say the same."""
    for side in ("base", "head"):
        for path in found:
            shutil.copytree(path / side, tmp_path / side / path.name, symlinks=True)
    exchange = tmp_path / "exchange"
    gather(exchange, base=str(tmp_path / "base"), head=str(tmp_path / "head"), repo=tmp_path)
    inside = in_jail(exchange)
    outside = compare(Exchange.load(exchange), Reader.of_folder(exchange / "contents"))
    assert inside == outside
    return inside


@pytest.mark.needs("shared")
@pytest.mark.parametrize("name", [f"group {i}" for i in range(6)] + ["hostile"])
def test_nothing_is_imported_too_late(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "START", WALLED)
    found = groups()[name]
    assert found
    comparison = same_as_outside(tmp_path, found)
    assert len(comparison.models) >= len(found) / 2
    said = [each.reason for each in comparison.unchecked]
    assert [reason for reason in said if any(word in reason for word in LATE)] == []
    assert not any(each.id == "jail" for each in comparison.unchecked)


@pytest.mark.needs("shared")
def test_ugly_folders_through_the_jail(tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "START", WALLED)
    ugly = [path for path in sorted((shared / "corpus").glob("ugly-*")) if path.name != "ugly-hostile-template"]
    for path in ugly:
        shutil.copytree(path, tmp_path / "head" / path.name, symlinks=True)
        (tmp_path / "base" / path.name).mkdir(parents=True)
    comparison = run.compare(base=str(tmp_path / "base"), head=str(tmp_path / "head"), repo=tmp_path, prove="never")
    assert [each.reason for each in comparison.unchecked if any(word in each.reason for word in LATE)] == []


@pytest.mark.needs("shared")
def test_the_hostile_template_of_the_corpus(tmp_path: Path, shared: Path) -> None:
    head = shared / "corpus" / "ugly-hostile-template"
    comparison = run.compare(base=str(write(tmp_path / "base", "chatml", {})), head=str(head), repo=tmp_path, prove="never")
    assert any("could not be rendered within" in each.reason for each in comparison.unchecked)
    assert [each.reason for each in comparison.unchecked if any(word in each.reason for word in LATE)] == []
