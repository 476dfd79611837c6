"""The smaller views: escapes, links, marker, annotations and text for terminals."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.analyze.records import Fix, ModelChange, PromptChange, RenderedTemplate
from bot.place import Place
from bot.publish import escape, marker, prompted, words
from bot.publish.annotations import annotations
from bot.publish.comment import comment
from bot.publish.links import Links
from bot.publish.marker import Marker
from bot.publish.summary import summary
from bot.publish.text import text
from tests import comparisons
from tests.comparisons import BASE_SHA, HEAD_SHA, base, comparison, finding, head, stops
from tests.test_publish_hostile import RECORDS, hostile_texts, replaced

LINKS = Links("https://github.com", "acme/kimi", BASE_SHA, HEAD_SHA)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("<|im_end|>", "`<|im_end|>`"),
        ("", "(empty)"),
        ("  ", "`␠␠`"),
        ("a\nb\r\n\t\0", "`a⏎b␍⏎␉␀`"),
        ("\u202e\u200b\u00a0\ud800", "`⟨U+202E⟩⟨U+200B⟩⟨U+00A0⟩⟨U+D800⟩`"),
        ("a`b", "``a`b``"),
        ("``", "``` `` ```"),
        ("<｜begin▁of▁sentence｜>", "`<｜begin▁of▁sentence｜>`"),
        ("x" * 200, f"`{'x' * 60}…{'x' * 59}`"),
    ],
)
def test_code(raw: str, shown: str) -> None:
    assert escape.code(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("`a.json` stops on `<|x|>`", "`a.json` stops on `<|x|>`"),
        ("`a``b`", "`a` `b`"),
        ("odd ` tick @octocat", "odd `  tick @octocat `"),
        ("see #1 and (a1b2c3d).", "see `#1` and (`a1b2c3d`)."),
        ("snake_case and _this_ < *that*", "snake_case and \\_this\\_ &lt; \\*that\\*"),
        ("two\n\nlines", "two lines"),
        ("", "(empty)"),
        ("- 2.8 MB, 163586, transformers.js", "\\- 2.8 MB, 163586, transformers.js"),
    ],
)
def test_markup(raw: str, shown: str) -> None:
    assert " ".join(escape.markup(raw).split()) == " ".join(shown.split())


def test_values_survive_sentences() -> None:
    assert escape.plain(f"is {escape.quoted('a`b')} there?") == "is aˋb there?"


def test_fence_is_longer_than_any_inside() -> None:
    assert escape.fence("a\n````\nb\r", "diff") == "`````diff\na\n````\nb␍\n`````"


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (
            head("a b/c#(1).json", 7, "/x/y~1z"),
            f"[a b/c\\#(1).json:7](https://github.com/acme/kimi/blob/{HEAD_SHA}/a%20b/c%23%281%29.json#L7) `x.y/z`",
        ),
        (base("README.md", 2), f"[README.md:2](https://github.com/acme/kimi/blob/{BASE_SHA}/README.md?plain=1#L2) (before)"),
        (head("pull-request:body", 3), "the pull request's description, line 3"),
        (head("pull-request:title"), "the pull request's title"),
        (head(f"commit:{HEAD_SHA}", 2), "message of commit `2b2b88e3`, line 2"),
        (head("../../evil/repo", 1), "`../../evil/repo:1`"),
        (head("a//b", 1), "`a//b:1`"),
    ],
)
def test_place(place: Place, shown: str) -> None:
    assert LINKS.place(place) == shown


@pytest.mark.parametrize(
    "links",
    [
        Links(),
        Links("https://github.com", "", BASE_SHA, HEAD_SHA),
        Links("https://github.com", "a/b/c", BASE_SHA, HEAD_SHA),
        Links("https://github.com", "a/b", BASE_SHA, None),
        Links("https://github.com", "a/b", BASE_SHA, "main"),
    ],
)
def test_no_links_without_a_page(links: Links) -> None:
    assert links.place(head("a.json", 3)) == "`a.json:3`"


def test_neighbours_in_one_file_name_it_once() -> None:
    shown = Links().places((head("a", 1), head("a", 2), head("b", 1), head("a", 2), head("c", 1)), limit=3)
    assert shown == "`a:1` · `:2` · `b:1` · and 1 more"


@given(
    st.text(max_size=100),
    st.text(),
    st.lists(st.tuples(st.text(), st.sampled_from(("error", "warning", "note")))),
    st.integers(0),
)
def test_marker_is_read_as_written(name: str, commit: str, fingerprints: list[tuple[str, words.Severity]], more: int) -> None:
    mark = Marker(id=name, head=commit, fingerprints=tuple(fingerprints), more=min(more, 10**6))
    line = marker.write(mark, 10**6)
    assert "\n" not in line
    assert line.isascii()
    assert "--" not in line.removeprefix("<!--").removesuffix("-->")
    assert marker.read(f"{line}\r") == mark


@given(st.text())
def test_foreign_first_line_is_no_marker(line: str) -> None:
    assert marker.read(line) is None


@pytest.mark.parametrize(
    "inside", ["{}x", "{", "[]", '{"v":"1"}', '{"fingerprints":[["a","fatal"]]}', '{"head":null}', '{"id":"\ud800"}']
)
def test_broken_marker_is_none(inside: str) -> None:
    assert marker.read(f"<!-- model-repo-drift {inside} -->") is None


def test_marker_of_a_later_version_is_still_ours() -> None:
    assert marker.read('<!-- model-repo-drift {"v":2,"id":"x","head":"y","fingerprints":[],"new":1} -->') == Marker(
        v=2, id="x", head="y"
    )


def test_marker_keeps_its_limit() -> None:
    mark = Marker(fingerprints=tuple((f"{number:016x}", "error") for number in range(1000)))
    read = marker.read(marker.write(mark, 2000))
    assert read is not None
    assert read.more + len(read.fingerprints) == 1000
    assert 40 < len(read.fingerprints) < 80
    with pytest.raises(ValueError, match="at most 100"):
        marker.write(Marker(id="x" * 101))


def test_annotations_name_the_line_in_head() -> None:
    odd = finding(
        title="`a,b` : 100%",
        detail="first\nsecond %0A",
        places=(base("old.json", 1), head("pull-request:body", 1), head("a,b:c%.json", 9)),
        fix=Fix("Do `this`."),
    )
    assert annotations(comparison(new=(odd,))) == [
        "::error file=a%2Cb%3Ac%25.json,line=9,title=a%2Cb %3A 100%25::first second %250A Do this. (eos-split-brain)"
    ]
    deleted = finding(places=(base("old.json", 1),), severity="note")
    assert annotations(comparison(new=(deleted,)))[0].startswith("::notice title=")


def test_annotations_are_worst_first_and_counted() -> None:
    new = tuple(finding(key=str(number), severity=("note", "warning", "error")[number % 3]) for number in range(36))
    lines = annotations(comparison(new=new))
    assert [line[2:].partition(" ")[0].partition("::")[0] for line in lines] == ["error"] * 10 + ["warning"] * 10 + [
        "notice"
    ] * 10
    assert lines[9] == "::error::3 more errors, see the job summary"
    assert annotations(comparison(new=new), limit_per_level=12)[11].startswith("::error file=")


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(RECORDS), st.lists(hostile_texts, min_size=1, max_size=6))
def test_annotations_are_one_command_each(record: comparisons.Comparison, texts: list[str]) -> None:
    for line in annotations(replaced(record, texts, hostile=True)):
        assert line.splitlines() == [line]
        assert re.fullmatch(r"::(?:error|warning|notice) (?:file=[^:,]+,line=\d+,)?title=[^:,]*::.*", line)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(RECORDS), st.lists(hostile_texts, min_size=1, max_size=6), st.sampled_from((40, 100)))
def test_text_has_no_foreign_control(record: comparisons.Comparison, texts: list[str], width: int) -> None:
    record = replaced(record, texts, hostile=True)
    for verbose in (False, True):
        plain = text(record, color=False, width=width, verbose=verbose)
        assert all(letter == "\n" or escape.visible(letter) == letter for letter in plain)
        assert not re.search(r"^\s*::|##\[", plain, re.MULTILINE)
        colored = text(record, color=True, width=width, verbose=verbose)
        assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", colored)
        assert not re.search(r"^\s*::", colored, re.MULTILINE)


def test_text_reads_like_the_comment() -> None:
    said = text(comparisons.kimi_half_fix(), color=False)
    lines = said.splitlines()
    assert lines[0] == "The new revision leaves the files disagreeing on which token ends a reply"
    assert lines[-1] == "1 error, 1 warning, 0 notes new · 0 resolved · 2 there before · 1 not checked"
    assert said.index("stops on [EOS] 163585") < said.index("\nerror ") < said.index("\nwarning ") < said.index("\nnot checked")
    assert max(len(line) for line in lines) <= 100
    assert '"eos_token": "<|im_end|>"' not in said
    assert '+  "eos_token": "<|im_end|>",' in text(comparisons.kimi_half_fix(), color=False, verbose=True)


def test_text_says_nothing_new_in_one_line() -> None:
    lines = text(comparisons.nothing_new(), color=False, width=200).splitlines()
    assert lines[0] == "Nothing new goes wrong with the new revision"
    assert lines[1].startswith("not checked: tiktoken.model: a Git LFS pointer")
    assert len(lines) == 3


def test_text_does_not_read_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = text(comparisons.kimi_half_fix(), color=True)
    for name, value in {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "30", "FORCE_COLOR": "1", "TTY_COMPATIBLE": "0"}.items():
        monkeypatch.setenv(name, value)
    assert text(comparisons.kimi_half_fix(), color=True) == before
    assert "\x1b[" in before
    assert "\x1b[" not in text(comparisons.kimi_half_fix(), color=False)


def changed(probe: str, **fields: Any) -> PromptChange:
    """A prompt that differs, of which only what matters is given."""
    plain: dict[str, Any] = {
        "folder": ".",
        "template": "default",
        "probe": probe,
        "before_sha256": "1",
        "after_sha256": "2",
        "diff": "+x",
        "way": "a",
    }
    return PromptChange(**(plain | fields))


def rendered(**fields: Any) -> RenderedTemplate:
    plain: dict[str, Any] = {"folder": ".", "template": "default", "rewritten": True, "conversations": 9, "differing": 3}
    return RenderedTemplate(**(plain | fields))


def said(*changes: PromptChange, of: tuple[RenderedTemplate, ...] = ()) -> list[str]:
    return [block.said for block in prompted.blocks(comparison(prompts=changes, rendered=of))]


def test_conversations_that_differ_in_one_way_are_one_block() -> None:
    three = tuple(changed(name) for name in ("a", "b", "c"))
    four = (*three, changed("d"))
    assert said(*three) == ["`a`, `b` and `c`"]
    assert said(*four) == ["`a`, `b` and 2 more"]
    assert said(*four, of=(rendered(),)) == ["4 of 9 conversations (`a`, `b` and 2 more)"]
    assert said(*four, of=(rendered(conversations=4),)) == ["every conversation"]
    assert said(*four, of=(rendered(conversations=5, failing=1),)) == ["every conversation that renders"]
    assert said(*three, changed("d", way="b", diff="-y")) == ["`a`, `b` and `c`", "`d`"]
    assert said(*three, changed("d", diff="+x\n y")) == ["`a`, `b` and 2 more; here `a`"]
    assert said(changed("a", way=""), changed("b", way="", diff="-y"), changed("c", way="")) == ["`a` and `c`", "`b`"]
    assert said(changed("a"), changed("b", template="rag"), changed("c", folder="x")) == [
        "`a` in the root folder",
        "`b`, template `rag` in the root folder",
        "`c` in `x/`",
    ]


def test_what_fails_is_told_first_and_in_words() -> None:
    changes = (
        changed("a"),
        changed("b", before_sha256=None, before_error="TypeError: y", way=""),
        changed("c", after_sha256=None, after_error="TemplateError: ``x`", way=""),
        changed("d", after_sha256=None, after_error="TemplateError: ``x`", way=""),
    )
    assert said(*changes) == [
        "`c` and `d` now fail: `TemplateError: ˋˋxˋ`",
        "`b` renders now, and failed before: `TypeError: y`",
        "`a`",
    ]
    record = comparison(prompts=changes, rendered=(rendered(),))
    assert prompted.summary(record) == ("4 of 9 conversations", "2 now fail, 1 no longer fails")
    plain = text(record, color=False, width=200)
    assert (
        "4 of 9 conversations rendered differently: 2 now fail, 1 no longer fails (the verbose text shows the diffs)\n" in plain
    )
    assert "\n  c and d now fail: TemplateError: ˋˋxˋ\n" in plain
    long = f"TemplateError:{' word' * 50}"
    record = comparison(prompts=(changed("a", after_sha256=None, after_error=long, way=""),))
    assert f"`a` now fails: `{long}`" in comment(record, links=LINKS)
    many = comparison(prompts=tuple(changed(str(n), after_sha256=None, after_error=str(n), way="") for n in range(7)))
    assert "\n  and 2 more\n" in text(many, color=False)
    assert "and 2 more" not in text(many, color=False, verbose=True)


def test_tokens_are_told_for_all_requests_or_by_block() -> None:
    def longer(name: str, more: int | None, **fields: Any) -> PromptChange:
        return changed(name, before_tokens=10, after_tokens=None if more is None else 10 + more, **fields)

    assert said(longer("a", 14), longer("b", 14)) == ["`a` and `b`, +14 tokens"]
    assert said(longer("a", 14), longer("b", -1)) == ["`a` and `b`, −1 to +14 tokens"]
    assert said(longer("a", -1)) == ["`a`, −1 token"]
    assert said(longer("a", 14), longer("b", None)) == ["`a` and `b`"]
    assert said(longer("a", 0)) == ["`a`"]
    every = (rendered(more_tokens=14),)
    assert said(longer("a", 14), longer("b", 3, way="b"), of=every) == ["`a`", "`b`, +3 tokens"]
    record = comparison(prompts=(longer("a", 14),), rendered=(*every, rendered(template="rag", differing=0)))
    assert prompted.summary(record) == ("1 of 18 conversations", "+14 tokens on every request")
    record = comparison(prompts=(longer("a", 14),), rendered=(*every, rendered(template="rag", more_tokens=13)))
    assert prompted.summary(record)[1] == ""


def test_the_ids_that_go_and_come_are_told_where_they_are_the_same_few() -> None:
    one, other = {"removed_ids": (1,), "added_ids": (2, 3)}, {"removed_ids": (), "added_ids": (2,)}
    assert said(changed("a", **one), changed("b", **one)) == ["`a` and `b`, ids `−1 +2 +3`"]
    assert said(changed("a", **other, before_tokens=1, after_tokens=2)) == ["`a`, +1 token, id `+2`"]
    assert said(changed("a", **one), changed("b", **other)) == ["`a` and `b`"]
    assert said(changed("a", removed_ids=(), added_ids=tuple(range(9)))) == ["`a`"]
    assert said(changed("a", removed_ids=(), added_ids=())) == ["`a`"]


def test_a_cosmetic_change_is_one_line() -> None:
    same = rendered(differing=0)
    sentence = "The text of the chat template changed; all 9 conversations render the same (cosmetic)."
    assert prompted.cosmetic(comparison(rendered=(same,))) == (sentence,)
    assert sentence in " ".join(text(comparison(rendered=(same,)), color=False).split())
    assert sentence in summary(comparison(rendered=(same,)), LINKS)
    assert sentence in comment(comparison(rendered=(same,), new=(finding(),)), links=LINKS)
    told = finding(check="chat-template-changed", severity="note", key="default", title="It changed in its text alone")
    for view in (comment, summary):
        said = view(comparison(rendered=(same,), new=(finding(), told)), links=LINKS)
        assert sentence in said
        assert "It changed in its text alone" not in said
    others = ({"rewritten": False}, {"differing": 1}, {"unrendered": 1}, {"failing": 9})
    assert prompted.cosmetic(comparison(rendered=tuple(rendered(**{"differing": 0, **each}) for each in others))) == ()
    rag = rendered(differing=0, template="rag", failing=1, folder="x")
    assert prompted.cosmetic(comparison(rendered=(same, rag)))[1] == (
        "The text of the chat template `rag` in `x/` changed; all 8 conversations render the same (cosmetic), and 1 more fails before and after."
    )


def test_what_became_of_conversations_that_were_brought_is_told_beside_a_finding_too() -> None:
    told = finding(check="chat-template-changed", severity="note")
    start = "The text of the chat template changed. Of the file of probes,"
    for counts, end in (
        ({}, "9 conversations render the same."),
        ({"failing": 8}, "1 conversation renders the same and 8 conversations fail before and after."),
        ({"conversations": 1, "failing": 1}, "1 conversation fails before and after."),
    ):
        record = comparison(rendered=(rendered(**{"differing": 0, "brought": True, **counts}),), new=(told,))
        assert prompted.cosmetic(record) == (f"{start} {end}",)
    for other in ({"rewritten": False}, {"differing": 1}, {"unrendered": 1}, {"conversations": 0}):
        assert prompted.cosmetic(comparison(rendered=(rendered(**{"differing": 0, "brought": True, **other}),))) == ()


def test_the_text_tells_once_that_prompts_differ() -> None:
    told = finding(check="chat-template-changed", severity="note", key="default", title="It renders differently")
    assert "It renders differently" not in text(comparison(prompts=(changed("a"),), new=(told,)), color=False)
    assert "It renders differently" in text(comparison(new=(told,)), color=False)


def test_the_comment_shows_the_first_diffs_and_folds_the_others() -> None:
    changes = (
        *(changed(f"p{n}", way=str(n), diff=f"+{n}") for n in range(5)),
        changed("f", after_sha256=None, after_error="E: x", diff="-gone", way=""),
    )
    said = comment(comparison(prompts=changes), links=LINKS)
    assert said.index("`f` now fails: `E: x`.") < said.index("`p0`\n\n```diff\n+0") < said.index("`p1`")
    assert said.index("`p1`") < said.index("<details><summary>3 more conversations</summary>") < said.index("`p2`")
    assert "-gone" not in said
    whole = summary(comparison(prompts=changes), LINKS)
    assert "more conversations" not in whole
    assert "`f` now fails: `E: x`\n\n```diff\n-gone\n```" in whole


def test_a_model_that_moved_is_named_by_where_it_is_now() -> None:
    moved = ModelChange(change="moved", before="vocab_base", after="tokenizer")
    stays = ModelChange(change="changed", before="model", after="model")
    record = comparison(
        models=(moved, stays),
        new=tuple(finding(folder=name, title=name) for name in ("vocab_base", "model")),
        predictions=tuple(stops(("vllm@0.33.0",), [1], [2], folder=name) for name in ("vocab_base", "model")),
        prompts=tuple(
            PromptChange(folder=name, template="default", probe="p", before_sha256="a", after_sha256=None)
            for name in ("vocab_base", "model")
        ),
        rendered=(RenderedTemplate(folder="vocab_base", template="default", rewritten=True, conversations=2, differing=0),),
    )
    for page in (comment(record, links=Links()), summary(record, Links())):
        assert "\n### In `tokenizer/`, formerly `vocab_base/`\n" in page
        assert "\n### In `model/`\n" in page
        assert "\n| `tokenizer/`, formerly `vocab_base/` | vLLM 0.33.0 |" in page
        assert "`p` in `tokenizer/` now fails" in page
    assert "error vocab_base [tokenizer/, formerly vocab_base/]" in text(record, color=False)
    root = msgspec.structs.replace(
        record, models=(ModelChange(change="moved", before=".", after="new"),), new=(finding(folder="."),)
    )
    assert "[new/, formerly the root folder]" in text(root, color=False)
