"""Which hexadecimal words of a text are taken for commits, and on which line."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.analyze.claims import claims
from bot.analyze.records import Claim
from bot.place import Place
from bot.snapshot import Change, Commit, CommitStatus

README = Place("head", "README.md")
BODY = Place("head", "pull-request:body")
OURS = "acme/tiny-chat"
FULL = "0123456789abcdef0123456789abcdef01234567"
SHA = "abc1234"


def said(text: str, *, change: Change | None = None) -> tuple[Claim, ...]:
    return claims({README: text}, Change(repository=OURS) if change is None else change)


def spots(text: str) -> list[tuple[str, int]]:
    return [(claim.sha, place.line) for claim in said(text) for place in claim.places]


CLAIMS: dict[str, tuple[str, list[tuple[str, int]]]] = {
    "commit": ("commit abc1234", [(SHA, 1)]),
    "Commit with a colon": ("Commit: abc1234", [(SHA, 1)]),
    "upper case": ("Fixed in ABC1234.", [(SHA, 1)]),
    "fixed in": ("The stop token is fixed in abc1234.", [(SHA, 1)]),
    "fixes": ("abc1234 is what? Fixes abc1234", [(SHA, 1)]),
    "in parentheses": ("(commit abc1234)", [(SHA, 1)]),
    "quoted": ('commit "abc1234"', [(SHA, 1)]),
    "merged as": ("It was merged as abc1234 yesterday", [(SHA, 1)]),
    "backported by": ("backported by abc1234", [(SHA, 1)]),
    "revision": ("Use revision abc1234", [(SHA, 1)]),
    "full id": (f"commit {FULL}", [(FULL, 1)]),
    "eight digits said to be one": ("commit 12345678", [("12345678", 1)]),
    "letters said to be one": ("fixed in deadbeefc", [("deadbeefc", 1)]),
    "back-ticks": ("The fix is `abc1234`.", [(SHA, 1)]),
    "back-ticks in a sentence about commits": ("See `abc1234` for it, the commit of yesterday.", [(SHA, 1)]),
    "twelve digits said to be one": ("Use revision 222222222222.", [("2" * 12, 1)]),
    "on a later line": ("# Title\n\ntext\nand more, fixed in\nabc1234 now\n", [(SHA, 5)]),
    "second paragraph": ("a\n\nb\n\ncommit abc1234\n", [(SHA, 5)]),
    "list item": ("- one\n- fixed in abc1234\n- three\n", [(SHA, 2)]),
    "nested list": ("1. a\n   - b\n     - commit `abc1234`\n", [(SHA, 3)]),
    "task list": ("- [x] fixed in abc1234\n", [(SHA, 1)]),
    "table": ("| what | commit |\n| --- | --- |\n| fix | `abc1234` |\n", [(SHA, 3)]),
    "quote": ("> fixed in abc1234\n", [(SHA, 1)]),
    "heading": ("## Commit abc1234\n", [(SHA, 1)]),
    "emphasis": ("commit **abc1234**", [(SHA, 1)]),
    "strong word": ("**commit** abc1234", [(SHA, 1)]),
    "html block": ("<details>\nfixed in abc1234\n</details>\n", [(SHA, 2)]),
    "html link": ('<p align="center">\n<a href="https://huggingface.co/acme/tiny-chat/commit/abc1234">x</a>\n</p>\n', [(SHA, 2)]),
    "github commit": ("[x](https://github.com/acme/tiny-chat/commit/abc1234)", [(SHA, 1)]),
    "github tree": ("[x](https://github.com/acme/tiny-chat/tree/abc1234/sub)", [(SHA, 1)]),
    "github blob": ("[x](https://github.com/acme/tiny-chat/blob/abc1234/README.md#L3)", [(SHA, 1)]),
    "hub commit": (f"[x](https://huggingface.co/acme/tiny-chat/commit/{FULL})", [(FULL, 1)]),
    "hub tree": (f"[x](https://huggingface.co/acme/tiny-chat/tree/{FULL})", [(FULL, 1)]),
    "hub resolve": (f"[x](https://huggingface.co/acme/tiny-chat/resolve/{FULL}/config.json?download=true)", [(FULL, 1)]),
    "hub dataset": (f"[x](https://huggingface.co/datasets/acme/tiny-chat/commit/{FULL})", [(FULL, 1)]),
    "relative link": ("[x](/acme/tiny-chat/commit/abc1234)", [(SHA, 1)]),
    "auto link": ("<https://huggingface.co/acme/tiny-chat/commit/abc1234>", [(SHA, 1)]),
    "bare link": ("https://huggingface.co/acme/tiny-chat/commit/abc1234", [(SHA, 1)]),
    "reference link": ("See [that][1].\n\n[1]: https://huggingface.co/acme/tiny-chat/commit/abc1234\n", [(SHA, 1)]),
    "image in a link": ("[![b](x.png)](https://huggingface.co/acme/tiny-chat/commit/abc1234)", [(SHA, 1)]),
    "link on a later line": ("text\nand [x\ny](https://huggingface.co/acme/tiny-chat/commit/abc1234)\n", [(SHA, 3)]),
    "python": ('```python\nm = AutoModel.from_pretrained(\n    "acme/tiny-chat",\n    revision="abc1234",\n)\n```\n', [(SHA, 4)]),
    "python, single quotes": ("```py\nrevision = 'abc1234'\n```\n", [(SHA, 2)]),
    "code_revision": ('```python\nf("x", code_revision="abc1234")\n```\n', [(SHA, 2)]),
    "a dictionary": ('```python\n{"revision": "abc1234"}\n```\n', [(SHA, 2)]),
    "yaml": ("```yaml\nrevision: abc1234\n```\n", [(SHA, 2)]),
    "shell": ("```sh\nvllm serve acme/tiny-chat --revision abc1234\n```\n", [(SHA, 2)]),
    "shell with =": ("```\nvllm serve x \\\n  --revision=abc1234\n```\n", [(SHA, 3)]),
    "indented code": ('text\n\n    revision="abc1234"\n', [(SHA, 3)]),
    "tildes": ("~~~\n--revision abc1234\n~~~\n", [(SHA, 2)]),
    "code span": ('Load it with `revision="abc1234"`.', [(SHA, 1)]),
    "link in a fence": ("```\nhttps://huggingface.co/acme/tiny-chat/commit/abc1234\n```\n", [(SHA, 2)]),
    "fence in a list": ("- a\n\n  ```\n  --revision abc1234\n  ```\n", [(SHA, 4)]),
    "carriage returns": ("a\r\n\r\nfixed in abc1234\r\n", [(SHA, 3)]),
    "two on two lines": ("commit abc1234\nand commit def5678\n", [(SHA, 1), ("def5678", 2)]),
    "one on two lines": ("commit abc1234\n\ncommit abc1234\n", [(SHA, 1), (SHA, 3)]),
    "twice on one line": ("commit abc1234, commit abc1234\n", [(SHA, 1)]),
    "last line without an end": ("x\n\ncommit abc1234", [(SHA, 3)]),
    "line separator before it": ("a\u2028b\nx\ncommit abc1234\ny", [(SHA, 3)]),
    "form feed before it": ("a\x0cb\nx\ncommit abc1234\n", [(SHA, 3)]),
    "separators in a fence": ("```\nx\u2028y\x0cz\n--revision abc1234\n```\n", [(SHA, 3)]),
    "separator in an html block": ("<div>\u2028\nx\ncommit abc1234\n</div>", [(SHA, 3)]),
    "next line, and a break after commit": ("x\x85y\nz, commit\nabc1234\nw", [(SHA, 3)]),
    "a longer word before it": ("not abc1234x\ncommit abc1234", [(SHA, 2)]),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_and_its_line(name: str) -> None:
    text, expected = CLAIMS[name]
    assert spots(text) == expected


NO_CLAIMS = {
    "colour": "The button is #aabbcc1 and #a1b2c3d4.",
    "colour in back-ticks": "`#aabbcc1`",
    "colour word": "colour aabbcc1, color: aabbcc1",
    "style": '<span style="color:#aabbcc1">x</span>',
    "sha256": f"sha256: {FULL}",
    "sha256 in back-ticks": "sha256 `abc1234def0`",
    "SHA-256": "SHA-256: abc1234",
    "sha256sum": f"{FULL}{FULL[:24]}  model.safetensors",
    "sha1sum": f"sha1sum: {FULL}",
    "md5": "md5: 0123456789abcdef0123456789abcdef",
    "md5 in back-ticks": "`0123456789abcdef0123456789abcdef`",
    "checksum": "checksum abc1234",
    "etag": 'etag "abc1234def"',
    "date": "Updated 20240115, released 2024-01-15.",
    "date said to be a revision": "revision 20240115",
    "date in back-ticks": "`20240115`",
    "date and time": "revision 202401151230",
    "plain number": "1234567 parameters and 12345678 tokens",
    "plain number in back-ticks": "`1234567`",
    "revision number": "Checkpoint at revision 1000000.",
    "steps": "From commit 1000000 steps of training on, and at commit 2000000 training tokens.",
    "merged with a model": "The model was merged with abc1234d.",
    "full id in back-ticks": f"`{FULL}`",
    "torrent": f"Torrent infohash: `{FULL}`",
    "fingerprint": f"PGP fingerprint: `{FULL}`",
    "hash": f"Tokenizer hash: `{FULL}`",
    "git hash of a file": f"The file's git hash is `{FULL}`.",
    "version of a data set": f"Dataset version `{FULL}`",
    "key": f"API key: `{FULL}`",
    "table of hashes": f"| File | Hash |\n|---|---|\n| a.bin | `{FULL}` |\n",
    "a commit in the next sentence": f"Its hash is `{FULL}`. Every commit is signed.",
    "English": "The defaced facade was effaced; a fixed decade acceded.",
    "English in back-ticks": "`defaced` `acceded` `effaced`",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "uuid in back-ticks": "`123e4567-e89b-12d3-a456-426614174000`",
    "uuid said to be one": "uuid 123e4567",
    "image digest": f"`ghcr.io/acme/x@sha256:{FULL}{FULL[:24]}`",
    "prose": "abc1234 is a fine word",
    "identifier": "commit_abc1234 and x_abc1234 and abc1234_x",
    "longer word": "commit abc1234xyz",
    "too long": f"commit {FULL}0",
    "too short": "commit abc123",
    "hex in code": '```python\nx = 0xabc1234\ny = "abc1234"\n# fixed in abc1234\n```\n',
    "dump": "```\n00000000: abc12345 def67890\n```\n",
    "printed sha": f"```\n$ sha1sum x\n{FULL}  x\n```\n",
    "cherry pick": f"(cherry picked from commit {FULL})",
    "cherry pick, short": "(cherry picked from commit abc1234)",
    "revert": f"This reverts commit {FULL}.",
    "link elsewhere": "[x](https://example.com/a/abc1234)",
    "link to a file": "https://huggingface.co/acme/tiny-chat/blob/main/abc1234.json",
    "link to a branch": "https://github.com/acme/tiny-chat/tree/main",
    "front matter": "---\nlicense: mit\ndatasets:\n- acme/abc1234\n---\n",
    "html comment": "<!-- abc1234 -->\n",
    "nothing": "",
    "model names": "Qwen3-4B-2507-abc1234-GGUF",
}


@pytest.mark.parametrize("name", NO_CLAIMS)
def test_no_claim(name: str) -> None:
    assert spots(NO_CLAIMS[name]) == []


def commit(word: str, status: str, sha: str | None = None) -> Commit:
    assert status in ("reachable", "orphaned", "unknown")
    return Commit(word, sha, status, "as it is")  # pyright: ignore[reportArgumentType]


def test_words_of_one_commit_are_one_claim_under_its_full_id() -> None:
    short, longer = FULL[:7], FULL[:12]
    change = Change(commits=(commit(short, "orphaned", FULL), commit(longer, "orphaned", FULL)), repository=OURS)
    text = f"commit {short}\n\ncommit {longer}\n"
    (claim,) = claims({README: text, BODY: f"fixed in {short.upper()}"}, change)
    assert (claim.sha, claim.status, claim.reason) == (FULL, "orphaned", "as it is")
    assert [(p.path, p.line) for p in claim.places] == [("README.md", 1), ("README.md", 3), ("pull-request:body", 1)]


def test_a_word_that_was_not_looked_up_is_unknown() -> None:
    (claim,) = said("commit abc1234")
    assert (claim.status, claim.reason) == ("unknown", "it was not looked up")


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://github.com/other/repo/commit/abc1234)",
        '```python\nf.from_pretrained("other/repo", revision="abc1234")\n```\n',
        '`from_pretrained("other/repo", revision="abc1234")`',
    ],
)
def test_a_commit_of_another_repository_is_not_orphaned_here(text: str) -> None:
    (claim,) = said(text, change=Change(commits=(commit(SHA, "orphaned"),), repository=OURS))
    assert claim.status == "unknown"
    assert claim.reason.endswith("a commit of other/repo")


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://huggingface.co/Other/Repo/commit/abc1234)",
        '```python\nf.from_pretrained("other/repo", revision="abc1234")\n```\n',
    ],
)
@pytest.mark.parametrize(("status", "sha"), [("orphaned", FULL), ("orphaned", None), ("reachable", FULL)])
def test_a_commit_of_another_repository_is_what_it_is_there(text: str, status: CommitStatus, sha: str | None) -> None:
    there = Commit(SHA, sha, status, "other/repo: as it is", "other/repo")
    (claim,) = said(text, change=Change(commits=(commit(SHA, "orphaned"), there), repository=OURS))
    assert (claim.sha, claim.status, claim.reason) == (sha or SHA, status, "other/repo: as it is")
    (here,) = said("Fixed in commit abc1234.", change=Change(commits=(commit(SHA, "orphaned"), there), repository=OURS))
    assert here.reason != "other/repo: as it is"


def test_a_link_to_this_repository_is_ours_whatever_its_case() -> None:
    text = "[x](https://huggingface.co/Acme/Tiny-Chat/commit/abc1234)"
    (claim,) = said(text, change=Change(commits=(commit(SHA, "orphaned"),), repository=OURS))
    assert claim.status == "orphaned"


FOREIGN = {
    "Quantized with commit `abc1234` of llama.cpp.": "llama.cpp",
    "Trained on commit abc1234 of the dataset allenai/c4.": "another project",
    f"Based on revision `{FULL}` of the base model.": "another project",
    f"The base model (revision {FULL} of mistralai/Mistral-7B-v0.1) was fine-tuned.": "mistralai/Mistral-7B-v0.1",
    f"Base model revision: {FULL}": "another project",
    f"Training code commit: {FULL}": "another project",
    "Git commit of the training repository: `abc1234`": "another project",
    "Evaluated with lm_eval at commit abc1234.": "lm_eval",
    "Evaluated with EvalPlus (commit abc1234).": "EvalPlus",
    "Served by Foo-Serve at commit abc1234.": "Foo-Serve",
    "Evaluated by hand with frobnicate, revision abc1234": "another project",
    "Upstream fixed this in abc1234.": "another project",
    "Fixed in upstream commit abc1234.": "another project",
    "Our training framework, revision abc1234": "another project",
    "GPTQ calibrated with commit abc1234 from AutoGPTQ.": "AutoGPTQ",
    "Loads with commit abc1234 from FooServe.": "FooServe",
    "Trained with [our code](https://github.com/other/code) (commit `abc1234`).": "other/code",
    "Fixed in commit abc1234, see <https://github.com/other/code/issues/3>.": "other/code",
    "See https://github.com/other/code.git at commit abc1234.": "other/code",
    "- **Code:** https://gitlab.com/group/code\n- **Commit:** abc1234\n": "group/code",
    "- Training code: ours\n- Commit: `abc1234`\n": "another project",
}
OURS_ALL_THE_SAME = (
    "Note: the chat template problem is fixed in commit abc1234.",
    "- Fix eos_token_id (commit abc1234)\n",
    "Fixed in commit abc1234 of this repository.",
    "Fixed in commit abc1234 of the model, from PR #4.",
    "See commit abc1234 in tokenizer_config.json.",
    "Use revision abc1234 of acme/tiny-chat.",
    "The template of tiny-chat at commit abc1234 is good, and so is commit abc1234 of Tiny-Chat.",
    "The template was converted to Jinja in commit abc1234.",
    "Converted with llama.cpp. The stop token is fixed in commit abc1234.",
    "- Trained with https://github.com/other/code\n- The stop token is fixed in commit abc1234.\n",
    "[Discussed](https://huggingface.co/acme/tiny-chat/discussions/3), fixed in revision abc1234.",
    "See the [paper](https://huggingface.co/papers/2401.00001): fixed in commit abc1234.",
    "Trained with care; fixed in commit abc1234.",
)


@pytest.mark.parametrize("text", FOREIGN)
def test_a_commit_that_the_sentence_gives_to_another_project_is_not_orphaned_here(text: str) -> None:
    word = FULL if FULL in text else SHA
    (claim,) = said(text, change=Change(commits=(commit(word, "orphaned"),), repository=OURS))
    assert (claim.sha, claim.status) == (word, "unknown")
    assert claim.reason.endswith(f" a commit of {FOREIGN[text]}")
    (claim,) = said(text, change=Change(commits=(commit(word, "orphaned", FULL),), repository=OURS))
    assert (claim.sha, claim.status) == (FULL, "orphaned"), "an object that is here is ours"


@pytest.mark.parametrize("text", OURS_ALL_THE_SAME)
def test_a_commit_that_the_sentence_gives_to_nobody_else_is_ours(text: str) -> None:
    (claim,) = said(text, change=Change(commits=(commit(SHA, "orphaned"),), repository=OURS))
    assert (claim.sha, claim.status) == (SHA, "orphaned")


@pytest.mark.parametrize("text", ["See `abc1234` for it.", "| what | where |\n| --- | --- |\n| fix | `abc1234` |\n"])
@pytest.mark.parametrize(("status", "sha"), [("orphaned", FULL), ("orphaned", None), ("unknown", None), ("reachable", FULL)])
def test_back_ticks_alone_name_a_commit_only_where_there_is_one(text: str, status: CommitStatus, sha: str | None) -> None:
    found = said(text, change=Change(commits=(commit(SHA, status, sha),), repository=OURS))
    assert [(claim.sha, claim.status) for claim in found] == ([(FULL, status)] if sha else [])


def test_an_object_that_is_here_is_ours_whatever_the_link_says() -> None:
    text = "[x](https://github.com/other/mirror/commit/abc1234)"
    (claim,) = said(text, change=Change(commits=(commit(SHA, "orphaned", FULL),), repository=OURS))
    assert (claim.sha, claim.status) == (FULL, "orphaned")


HOSTILE = {
    "one long word": "a" * (1 << 20),
    "many words": "abc1234 " * (1 << 17),
    "one claim many times": "commit abc1234 " * (1 << 16),
    "back-ticked words": "`abc1234` " * (1 << 16),
    "many different claims": "".join(f"commit {i:07x}a\n\n" for i in range(1 << 14)),
    "claims on lines of a paragraph": "".join(f"commit {i:07x}a\n" for i in range(1 << 12)),
    "back-ticks": "`" * (1 << 20),
    "brackets": "abc1234 " + "[" * (1 << 16),
    "nested links": "abc1234 " + "[" * 2000 + "x" + "](https://github.com/a/b/commit/abc1234)" * 2000,
    "emphasis": "abc1234 " + "*a _b " * (1 << 15),
    "quotes": "abc1234\n" + ">" * 5000 + " x\n",
    "lists": "abc1234\n" + "".join(f"{' ' * i}- x\n" for i in range(300)),
    "words that announce a commit": "abc1234 " + "commit in by with at " * (1 << 15),
    "blanks after commit": "commit" + " " * (1 << 18) + "abc1234",
    "revision and blanks": "```\nrevision" + " " * (1 << 17) + "abc1234\n```\n",
    "quotes after revision": "```\nrevision" + "'\"" * (1 << 16) + "abc1234\n```\n",
    "revisions": "```\n" + "revision='abc1234'\n" * (1 << 14) + "```\n",
    "from_pretrained": "```\nabc1234\n" + "from_pretrained(" * (1 << 15) + "\n```\n",
    "a long fence": "```\nabc1234\n" + "x\n" * (1 << 19),
    "html": "abc1234\n\n" + "<a " * (1 << 17),
    "html block": "<div>\n" + "commit abc1234\n" * (1 << 12) + "</div>\n",
    "addresses": "https://github.com/a/b/commit/abc1234 " * (1 << 13),
    "slashes": "abc1234 https://" + "a/" * (1 << 19),
    "table": "| abc1234 |\n| --- |\n" + "| x |\n" * (1 << 15),
    "references": "abc1234\n" + "".join(f"[{i}]: /x\n" for i in range(1 << 14)),
    "zero bytes": "abc1234 " + "\0" * (1 << 19),
    "line ends": "abc1234" + "\n" * (1 << 20),
    "unicode": "commit abc1234 " + "\u202e\u200b😀" * (1 << 17),
}
# Each is at most a MiB of text. The bound is generous, for slow machines: what is not linear takes minutes.
SECONDS = 15.0
# The same at a half and at the whole of a size: twice the text takes about twice the time, four times would be quadratic.
GROWING = {
    "one claim many times": "commit abc1234 ",
    "back-ticked words": "`abc1234` ",
    "a long fence": "x\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_linear_time(name: str) -> None:
    text = HOSTILE[name][: 1 << 20]
    start = time.process_time()
    found = said(text)
    assert time.process_time() - start < SECONDS
    assert all(1 <= place.line <= text.count("\n") + 1 for claim in found for place in claim.places)


@pytest.mark.parametrize("name", GROWING)
def test_twice_the_text_takes_no_more_than_thrice_the_time(name: str) -> None:
    taken: list[float] = []
    for size in (1 << 15, 1 << 16):
        text = "```\nabc1234\n" * (name == "a long fence") + GROWING[name] * size
        start = time.process_time()
        said(text)
        taken.append(time.process_time() - start)
    assert taken[1] < 3 * taken[0] + 0.2, taken


SCRAPS = (
    *("commit", "abc1234", FULL, "`", "```\n", "\n", "\n\n", " ", "[", "](", ")", "https://github.com/a/b/commit/", "<", ">"),
    *("- ", "    ", "|", "revision=", '"', "#", "\r\n", "\u2028", "\x0c", "\x85", "\0", "é"),
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(SCRAPS), max_size=30).map("".join))
def test_every_claim_stands_where_it_says(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for claim in said(text):
        assert 7 <= len(claim.sha) <= 40
        for place in claim.places:
            assert 1 <= place.line <= len(lines)
            assert claim.sha in lines[place.line - 1]
            assert (place.revision, place.path, place.pointer) == ("head", "README.md", "")
