"""No text of a repository gets any meaning on GitHub: the comment's skeleton does not depend on it."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from urllib.parse import urlsplit

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.analyze.records import Comparison
from bot.publish import escape
from bot.publish.comment import comment, nothing_new
from bot.publish.links import Links
from bot.publish.marker import Marker
from bot.publish.summary import summary
from tests import comparisons

LINKS = Links("https://github.com", "acme/kimi", comparisons.BASE_SHA, comparisons.HEAD_SHA)
OUR_HTML = {"details", "summary", "sub"}
MARKDOWN_TAGS = {
    "h3",
    "h4",
    "h5",
    "p",
    "br",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "ul",
    "li",
    "pre",
    "code",
    "strong",
    "a",
}
# What GitHub's filters look for in text outside of code. Wider than GitHub's own, never narrower.
MENTION = re.compile(r"@[a-z0-9]", re.IGNORECASE)
REFERENCE = re.compile(r"#\d|\bgh-\d|\b(?:ghsa|cve)-\d", re.IGNORECASE)
COMMIT = re.compile(r"\b[0-9a-f]{7,40}\b", re.IGNORECASE)
EMOJI = re.compile(r":[a-z0-9_+-]+:", re.IGNORECASE)
ADDRESS = re.compile(r"www\.\w|://|mailto:", re.IGNORECASE)
FORMULA = re.compile(r"\$")
ACTIVE = (MENTION, REFERENCE, COMMIT, EMOJI, ADDRESS, FORMULA)


class Page(HTMLParser):
    """The tags of a page without inline code and links, its addresses, and its text outside of code."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.skeleton: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.loose: list[str] = []
        self.all_text: list[str] = []
        self.comments: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("code", "a") or "pre" in self._open:
            self.skeleton.append(tag)
        if tag not in ("br", "img", "hr", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag
        if tag not in ("code", "a") or "pre" in self._open:
            self.skeleton.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.all_text.append(data)
        if not {"code", "pre"} & set(self._open):
            self.loose.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data}")


def by_github(markdown: str) -> Page:
    """The page as GitHub's own parser makes it of a comment, before any clean-up of HTML."""
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_HARDBREAKS | Options.CMARK_OPT_FOOTNOTES
    extensions = ["table", "autolink", "strikethrough", "tasklist"]
    return Page(cmarkgfm.markdown_to_html_with_extensions(markdown, options=options, extensions=extensions))


def by_markdown_it(markdown: str) -> Page:
    """The page as another parser makes it."""
    return Page(MarkdownIt("commonmark", {"html": True, "breaks": True}).enable(["table", "strikethrough"]).render(markdown))


PARSERS = (by_github, by_markdown_it)


def assert_inert(page: Page) -> None:
    assert set(page.tags) <= OUR_HTML | MARKDOWN_TAGS
    assert page.attributes <= {"href", "open", "class", "lang", "start"}
    for link in page.links:
        parts = urlsplit(link)
        assert (parts.scheme, parts.netloc) == ("https", "github.com")
        assert re.match(r"/acme/kimi/blob/(?:[0-9a-f]{40})/[^.]|/acme/kimi/blob/[0-9a-f]{40}/\.[^./]", parts.path)
    for text in page.loose:
        for pattern in ACTIVE:
            assert not pattern.search(text), f"{pattern.pattern} in {text!r}"


letters = st.one_of(
    st.sampled_from(list("`|\\*_~[]()<>&!#@:$\n\r\t -+=.\"'/0aA.^{}\u202e\u200b\x00\x1b\u2028é漢")),
    st.characters(exclude_categories=()),
)
fragments = st.one_of(
    st.sampled_from(comparisons.HOSTILE),
    st.text(letters, min_size=1, max_size=30),
    st.sampled_from(
        [
            "@octocat",
            "#12",
            "deadbeef",
            "<b>",
            "</details>",
            "```",
            "~~~",
            "|",
            "\n\n",
            "\n# x",
            "`",
            "``",
            "[x](http://a.example)",
        ]
    ),
)
hostile_texts = st.lists(fragments, min_size=1, max_size=4).map("".join)


def harmless(text: str) -> str:
    """A text of the same shape: as long, with back-ticks where they were, and nothing else that has a meaning."""
    return re.sub(r"[^`]", "x", text)


@given(hostile_texts)
@example("`a``b`")
@example("`")
@example("\\")
@example("x" * 3000)
@example("1. one")
def test_sentence_is_one_paragraph_of_its_own_letters(text: str) -> None:
    for parse in PARSERS:
        page = parse(escape.markup(text, 10_000))
        assert page.skeleton == ["p", "/p"]
        assert_inert(page)
        assert len("".join(page.all_text)) > 0


@given(hostile_texts)
@example("- x")
@example("7) x")
@example("====")
@example("a ## ")
@example("a\\")
@example("    x")
def test_plain_text_shows_all_its_letters(text: str) -> None:
    shown = escape.visible(re.sub(r"[\n\r\t]", " ", text))
    for parse in PARSERS:
        for page in (
            parse(escape.prose(text, 10_000)),
            parse(f"#### {escape.prose(text, 10_000)}"),
            parse(f"- {escape.prose(text, 10_000)}"),
        ):
            assert "".join("".join(page.all_text).split()) == ("".join(shown.split()) or "(empty)")
            assert_inert(page)


@given(hostile_texts)
@example("`")
@example(" a ")
@example("a|b")
@example("\\|")
def test_code_shows_exactly_its_text(text: str) -> None:
    shown = escape.visible(text)
    shown = shown if shown.strip(" ") else "␠" * len(shown)
    for parse in PARSERS:
        page = parse(f"x {escape.code(text, 10_000)} x")
        assert page.tags == ["p", "code"]
        assert "".join(page.all_text).strip("\n") == f"x {shown} x"
        table = parse(f"| a | b |\n| --- | --- |\n| {escape.cell(escape.code(text, 10_000))} | x |")
        assert table.tags == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "code", "td"]
        assert shown in "".join(table.all_text)


@given(hostile_texts)
def test_sentence_in_a_cell_stays_in_it(text: str) -> None:
    for parse in PARSERS:
        page = parse(f"| a | b |\n| --- | --- |\n| {escape.cell(escape.markup(text))} | x |")
        assert [tag for tag in page.tags if tag != "code"] == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
        assert_inert(page)


@given(hostile_texts)
@example("```\n````\n`````")
@example("~~~")
def test_fence_holds_everything(text: str) -> None:
    for parse in PARSERS:
        page = parse(f"{escape.fence(text, 'diff')}\n\nend")
        assert page.tags == ["pre", "code", "p"]
        assert escape.visible(text, keep="\n\t").removesuffix("\n") in "".join(page.all_text)


def replaced(record: Comparison, texts: list[str], *, hostile: bool) -> Comparison:
    """The record with hostile texts, or with harmless ones of the same shape; equal texts stay equal, others differ."""
    order: dict[str, int] = {}

    def rename(name: str, text: str) -> str:
        if text in ("", "."):
            return text
        chosen = texts[order.setdefault(text, len(order)) % len(texts)]
        start = "pull-request:" if name == "path" and text.startswith("pull-request:") else f"{order[text]}z"
        return start + (chosen if hostile else harmless(chosen))

    return comparisons.relabelled(record, rename)


def wide(record: Comparison, links: Links) -> str:
    """The comment without a limit in the way: escapes are longer than letters, so a limit would cut elsewhere."""
    return comment(record, links=links, limit=10_000_000)


RECORDS = (
    comparisons.hostile(),
    comparisons.kimi_half_fix(),
    comparisons.template_change(),
    comparisons.added_model(),
    comparisons.many_findings(),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=25)
@given(st.sampled_from(RECORDS), st.lists(hostile_texts, min_size=1, max_size=12), st.sampled_from((LINKS, Links())))
def test_skeleton_does_not_depend_on_the_repository(record: Comparison, texts: list[str], links: Links) -> None:
    bad, good = replaced(record, texts, hostile=True), replaced(record, texts, hostile=False)
    for rough, smooth in ((wide(bad, links), wide(good, links)), (summary(bad, links), summary(good, links))):
        for parse in PARSERS:
            hostile, calm = parse(rough), parse(smooth)
            assert hostile.skeleton == calm.skeleton
            assert hostile.comments == [] or len(hostile.comments) == 1
            assert_inert(hostile)


@pytest.mark.parametrize("parse", PARSERS)
def test_hostile_example_is_inert(parse: Callable[[str], Page]) -> None:
    record = comparisons.hostile()
    for text in (comment(record, links=LINKS), summary(record, LINKS), comment(record, links=Links())):
        assert_inert(parse(text))
    earlier = Marker(head="@octocat #1", fingerprints=(("0" * 16, "error"),))
    text = nothing_new(
        replaced(comparisons.nothing_new(), list(comparisons.HOSTILE), hostile=True), links=Links(), previous=earlier
    )
    assert_inert(parse(text))
