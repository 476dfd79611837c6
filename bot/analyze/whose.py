"""Whose commit a sentence speaks of: words of a model card name those of other projects more often than its own."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

PROJECT = "another project"

_BEFORE, _AFTER = 250, 100  # characters of a sentence that are looked at
_END = re.compile(r"[.!?;]\s")

# Projects whose commits model cards name.
_NAMES = (
    r"llama\.cpp|llama-cpp-python|ggml|gguf-py|transformers|tokenizers|diffusers|accelerate|peft|trl|vllm|sglang|tgi|text-generation-inference|"
    r"lmdeploy|tensorrt-llm|exllama\w*|auto-?gptq|gptqmodel|auto-?awq|llm-?compressor|bitsandbytes|optimum|mlx(?:-lm)?|mlc-llm|web-?llm|"
    r"xgrammar|ollama|pytorch|torch|triton|flash-?attention|xformers|deepspeed|megatron\w*|nemo|axolotl|llama-?factory|unsloth|mergekit|"
    r"lm[-_]eval(?:uation-harness)?|lighteval|evalplus|opencompass|wandb|docker"
)
_PROJECT = re.compile(
    rf"\b({_NAMES}|[\w-]+\.(?:cpp|py|js|rs)|[\w.-]+/[\w.-]+)(?:['’]s)?\b(?:[^.;]|\.(?=\d)){{0,40}}$", re.IGNORECASE
)
# What is not this repository: the subject of "upstream fixed this in", "training code commit", "revision ... of the base model".
_NOUN = (
    r"(?:base[ -]models?|upstream|data ?sets?|corpus|harness|frameworks?|toolkits?|library|submodules?|w&b|mirror of|fork(?:ed)? (?:of|from)|"
    r"teacher model|draft model|original model|code (?:commit|revision|version|repo\w*)|codebase|"
    r"(?:training|eval\w*|inference|benchmark\w*|conversion|reference|original|official|source|our|their) "
    r"(?:code|scripts?|repo(?:sitory)?|runs?|stack|implementation|pipeline|suite|engine))"
)
_SUBJECT = re.compile(rf"\b{_NOUN}\b", re.IGNORECASE)
# With what a model was made or judged: the commit is that of the tool or of what went in.
_MADE = re.compile(
    r"\b(?:pre-?train|fine-?tun|train|evaluat|quanti[sz]|convert|calibrat|compil|benchmark|distill|generat|built?|deriv|based)\w*\s+"
    r"(?:with|using|by|on|from|against|at)\b",
    re.IGNORECASE,
)
_MENDED = re.compile(r"\b(?:fix|patch|revert|backport)\w*\b[^,;]{0,20}$", re.IGNORECASE)
# A name with a capital within, a digit, a dash or an underscore, with which something was done: "with EvalPlus (commit", "Uses LLM-Foo at commit".
_NAMED = re.compile(
    r"\b(?:with|using|via|by|uses?|requires?|needs?|from|of)\s+(?:the\s+)?(?:latest\s+)?(?P<name>[A-Za-z][\w.+-]*)[\s,(`]*(?:at\s+)?(?:git\s+)?"
    r"(?:commits?|revisions?|revs?|sha)\b[\s:=`\"'(\[]*$",
    re.IGNORECASE,
)
_ODD = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[\d_-]")
_FILE = re.compile(r"\.(?:json|jinja2?|md|txt|py|ya?ml|model|safetensors|gguf|bin)$", re.IGNORECASE)
_LATER = re.compile(
    rf"[`*_)\]\"'\s,]{{0,4}}(?P<how>of|from|in)\s+(?:(?:the|our|their|its)\s+)?(?:(?P<noun>(?:\w+\s+)?{_NOUN})\b|(?P<known>{_NAMES})\b|"
    r"(?P<path>[A-Za-z0-9][\w.-]*/[\w.-]*\w)|(?P<name>[A-Za-z][\w.+-]*\w))",
    re.IGNORECASE,
)
_HOME = re.compile(
    r"https?://(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org|huggingface\.co|hf\.co)/(?:(?:datasets|spaces)/)?"
    r"([A-Za-z0-9][\w.-]*)/([A-Za-z0-9][\w-]*(?:\.[\w-]+)*)"
)
_NO_OWNER = (
    "docs",
    "papers",
    "blog",
    "collections",
    "models",
    "organizations",
    "orgs",
    "sponsors",
    "features",
    "topics",
    "settings",
    "learn",
)


def home(address: str) -> str:
    """The repository that an address leads to, as "owner/name", "" for none."""
    match = _HOME.match(address)
    return _repository(match) if match else ""


class Sentences:
    """A paragraph or list item, whose sentences are looked at around a word.

    `links` are the places of its links and where they lead; addresses in the text are found here. `above` is what an item that only says
    "Commit: ..." goes on from. `ours` is "owner/name" of this repository, "" where that is not known.
    """

    def __init__(self, text: str, ours: str, links: Iterable[tuple[int, str]] = (), above: str = "") -> None:
        self._text, self._ours = text, ours.lower()
        found = [(at, name) for at, href in links if (name := home(href))]
        found += [(match.start(), name) for match in _HOME.finditer(text) if (name := _repository(match))]
        self._links = sorted((at, name) for at, name in found if name.lower() != self._ours)
        self._at = [at for at, _ in self._links]
        self._above = above if _LABEL.match(text) else ""

    def around(self, start: int, end: int) -> tuple[str, str]:
        """The sentence that holds a word, before it and after it, as far as it is looked at."""
        before = self._text[max(0, start - _BEFORE) : start]
        cuts = [match.end() for match in _END.finditer(before)]
        after = self._text[end : end + _AFTER]
        cut = _END.search(after)
        return before[cuts[-1] if cuts else 0 :], after[: cut.start()] if cut else after

    def owner(self, start: int, end: int) -> str:
        """The repository or project that the sentence names for a commit, PROJECT where it is some other one, "" for this one."""
        before, after = self.around(start, end)
        later = _LATER.match(after)
        if later and (name := self._named_after(later)):
            return name
        first = bisect_left(self._at, start - len(before))
        last = bisect_right(self._at, end + len(after))
        if first < last:
            here = bisect_left(self._at, start)
            return self._links[here - 1 if here > first else first][1]
        known = _PROJECT.search(before[-80:])
        if known and known[1].lower() != self._ours:
            return known[1]
        if self._above:
            above = [name for match in _HOME.finditer(self._above) if (name := _repository(match)) and name.lower() != self._ours]
            if above or _SUBJECT.search(self._above):
                return above[-1] if above else PROJECT
        named = _NAMED.search(before[-80:])
        if named and self._is_name(named["name"]) and _ODD.search(named["name"]):
            return named["name"]
        made = _MADE.search(before) and not _MENDED.search(before)
        return PROJECT if made or _SUBJECT.search(before) else ""

    def _named_after(self, later: re.Match[str]) -> str:
        """Who is named behind a commit: "of llama.cpp", "from AutoGPTQ", "in the training repository"."""
        if later["noun"]:
            return PROJECT
        if later["known"]:
            return later["known"]
        if later["path"]:
            return later["path"] if self._is_name(later["path"]) else ""
        capitals = re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]", later["name"])
        return later["name"] if later["how"].lower() != "in" and capitals and self._is_name(later["name"]) else ""

    def _is_name(self, name: str) -> bool:
        """Whether a word can be the name of another project: no file, nor this repository."""
        return not _FILE.search(name) and name.lower() not in (self._ours, self._ours.partition("/")[2])


_LABEL = re.compile(r"\W{0,8}(?:git\s+)?(?:commit|revision|rev|sha|hash)(?:\s+(?:id|hash))?\W{0,4}[:=]", re.IGNORECASE)


def _repository(match: re.Match[str]) -> str:
    return "" if match[1].lower() in _NO_OWNER else f"{match[1]}/{match[2].removesuffix('.git')}"
