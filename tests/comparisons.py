"""Example comparisons for tests of views: real drifts in small, and records full of hostile text."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from bot.analyze.records import (
    Claim,
    Comparison,
    EngineChange,
    Finding,
    Fix,
    ModelChange,
    Modelled,
    NewCounts,
    PromptChange,
    Proof,
    RenderedTemplate,
    Side,
    Suppressed,
    Unchecked,
    Verdict,
)
from bot.place import Place

BASE_SHA = "a1b2c3d4" * 5
HEAD_SHA = "2b2b88e3" * 5
TRANSFORMERS = ("transformers@4.46.3", "transformers@4.57.6", "transformers@5.24.0")
ENGINES = (*TRANSFORMERS, "vllm@0.33.0", "sglang@0.5.23", "webllm@0.2.86")
CHECKS = {
    "eos-split-brain": "leaves the files disagreeing on which token ends a reply",
    "orphan-fix-commit": "refers to a fix that no branch holds",
    "chat-template-sources-differ": "gives engines different chat templates",
    "quantization-config-nested": "hides the quantization settings from engines that look at the top level",
}
KIMI_TEXTS = {"163585": "[EOS]", "163586": "<|im_end|>"}


def head(path: str, line: int = 1, pointer: str = "") -> Place:
    """A place in head."""
    return Place("head", path, pointer, line)


def base(path: str, line: int = 1, pointer: str = "") -> Place:
    """A place in base."""
    return Place("base", path, pointer, line)


def finding(**fields: Any) -> Finding:
    """A finding of which only what matters is given."""
    plain: dict[str, Any] = {
        "check": "eos-split-brain",
        "key": "eos_token",
        "folder": ".",
        "severity": "error",
        "confidence": "certain",
        "title": "`a.json` and `b.json` disagree",
        "detail": "Engines that read one of them stop elsewhere.",
        "places": (head("a.json", 3, "/eos_token_id"),),
    }
    return Finding(**(plain | fields))


def comparison(**fields: Any) -> Comparison:
    """A comparison of which only what matters is given; the counts of the verdict follow from it."""
    plain: dict[str, Any] = {
        "base": Side(label="main", sha=BASE_SHA, folders=(".",)),
        "head": Side(label="fix-eos", sha=HEAD_SHA, folders=(".",)),
        "models": (ModelChange(change="changed", before=".", after="."),),
        "modelled": Modelled(engines=ENGINES, checks=CHECKS, date="2026-08"),
    }
    names = ("new", "resolved", "unchanged", "suppressed", "predictions", "prompts", "claims", "proof", "unchecked")
    known: dict[str, Any] = dict.fromkeys(names, ()) | plain | fields
    new: Iterable[Finding] = known["new"]
    severities = [each.severity for each in new]
    verdict = Verdict(
        new=NewCounts(error=severities.count("error"), warning=severities.count("warning"), note=severities.count("note")),
        resolved=len(known["resolved"]),
        unchanged=len(known["unchanged"]),
        suppressed=len(known["suppressed"]),
        unchecked=len(known["unchecked"]),
    )
    return Comparison(**known, verdict=verdict)


def stops(engines: tuple[str, ...], before: Any, after: Any, **fields: Any) -> EngineChange:
    """A change of stop tokens of the Kimi example."""
    plain: dict[str, Any] = {
        "engines": engines,
        "folder": ".",
        "field": "stops",
        "before": before,
        "after": after,
        "before_texts": KIMI_TEXTS,
        "after_texts": KIMI_TEXTS,
    }
    return EngineChange(**(plain | fields))


SPLIT_BRAIN = finding(
    title="`generation_config.json` stops on `<|im_end|>`, `tokenizer_config.json` still says `[EOS]`",
    detail="Tools that read one file only, and engines that let one file replace the other, stop on different tokens. "
    "The chat template ends every reply with `<|im_end|>` (rendered: `…Hello!<|im_end|>`).",
    places=(
        head("generation_config.json", 4, "/eos_token_id"),
        head("config.json", 38, "/text_config/eos_token_id"),
        head("tokenizer_config.json", 171, "/eos_token"),
    ),
    engines=("sglang@0.5.23", "vllm < 0.34", "transformers 4.47 - 4.57"),
    fix=Fix(
        "Name the turn terminator in the tokenizer as well. If `[EOS]` must stay the tokenizer's end of text, "
        "list both ids in `generation_config.json` instead.",
        "--- a/tokenizer_config.json\n+++ b/tokenizer_config.json\n@@ -171 +171 @@\n"
        '-  "eos_token": "[EOS]",\n+  "eos_token": "<|im_end|>",\n',
    ),
)
ORPHAN = finding(
    check="orphan-fix-commit",
    key="6ad52ee",
    severity="warning",
    title="The pull request refers to fix `6ad52ee`, which is on no branch",
    detail='`README.md` pins `revision="6ad52ee"`. The commit exists only on `refs/pr/31`; readers of `main` do not have it.',
    places=(head("README.md", 12), head("pull-request:body", 3)),
)
NESTED = finding(
    check="quantization-config-nested",
    key="text_config.quantization_config",
    severity="warning",
    title="`quantization_config` stands only under `text_config`",
    detail="Readers of the top level load the weights unquantized.",
    places=(head("config.json", 71, "/text_config/quantization_config"),),
)
REMOTE_CODE = finding(
    check="requires-remote-code",
    key="tokenization_kimi.py",
    severity="note",
    title="The tokenizer is the repository's own code, `tokenization_kimi.py`",
    detail="Operators have to trust it.",
    places=(head("tokenizer_config.json", 180, "/auto_map"),),
)
POINTER = Unchecked(
    kind="file",
    id="tiktoken.model",
    folder=".",
    reason="a Git LFS pointer (2.8 MB, its content is not here), so token ids of ordinary text are not known",
    places=(head("tiktoken.model"),),
    changed=False,
)


def kimi_half_fix() -> Comparison:
    """Both model files flipped to the turn terminator, the tokenizer left, and a fix commit that no branch holds."""
    old, new = [163585], [163586]
    return comparison(
        new=(ORPHAN, SPLIT_BRAIN),
        unchanged=(REMOTE_CODE, NESTED),
        predictions=(
            stops(("sglang@0.5.23",), old, new, field="stops_in_grammar"),
            stops(TRANSFORMERS, old, new),
            stops(("vllm@0.33.0",), old, [163585, 163586], with_remote_code=True),
            stops(("sglang@0.5.23",), old, [163585, 163586], with_remote_code=True),
            stops(("webllm@0.2.86",), old, {"unknown": "there is no `mlc-chat-config.json`"}),
        ),
        claims=(
            Claim(sha="6ad52ee", places=(head("README.md", 12),), status="orphaned", reason="only refs/pr/31 holds it"),
            Claim(sha="0" * 40, places=(head("pull-request:body", 5),), status="unknown", reason="the clone is shallow"),
        ),
        unchecked=(POINTER,),
    )


def nothing_new() -> Comparison:
    """The tokenizer was repaired as well."""
    return comparison(
        head=Side(label="fix-eos", sha="77aa01c0" * 5, folders=(".",)), unchanged=(REMOTE_CODE, NESTED), unchecked=(POINTER,)
    )


def template_change() -> Comparison:
    """A default system turn comes first now, in the file only."""
    diff = (
        "+<|im_start|>system⏎\n+You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>⏎\n"
        " <|im_start|>user⏎\n Hi<|im_end|>⏎\n <|im_start|>assistant⏎\n"
    )
    template = finding(
        check="chat-template-sources-differ",
        key="chat_template",
        severity="warning",
        confidence="likely",
        title="transformers 4.46, TGI and transformers.js keep the old prompt",
        detail="The new text is in `chat_template.jinja`; the copy inside `tokenizer_config.json` was not changed.",
        places=(head("chat_template.jinja"), head("tokenizer_config.json", 14, "/chat_template")),
        engines=("transformers@4.46.3",),
        fix=Fix("Delete the key `chat_template` from `tokenizer_config.json`, or copy the new text into it."),
    )
    thinking = finding(
        check="thinking-default-flipped",
        key="enable_thinking",
        severity="note",
        title="The default of `enable_thinking` is now off",
        detail="vLLM and sglang users who do not set it get no reasoning block from now on.",
        places=(head("chat_template.jinja", 3),),
    )
    probes = ("user", "two-turns", "unicode", "long", "tools")
    failing = PromptChange(
        folder=".",
        template="default",
        probe="a tool call without content",
        before_sha256="1" * 64,
        after_sha256=None,
        diff='-<|im_start|>user⏎\n+(fails: TypeError: can only concatenate str (not "NoneType") to str)',
        after_error='TypeError: can only concatenate str (not "NoneType") to str',
        before_tokens=80,
    )
    return comparison(
        new=(thinking, template),
        resolved=(NESTED,),
        predictions=(
            EngineChange(
                engines=("transformers@5.24.0", "transformers@4.57.6", "vllm@0.33.0"),
                folder=".",
                field="template.sha256",
                before="ab12cd34" * 8,
                after="ef56ab78" * 8,
            ),
            EngineChange(
                engines=("transformers@4.46.3",),
                folder=".",
                field="template.sha256",
                before="ab12cd34" * 8,
                after="ab12cd34" * 8,
            ),
        ),
        prompts=(
            *(
                PromptChange(
                    folder=".",
                    template="default",
                    probe=probe,
                    before_sha256="1" * 64,
                    after_sha256="2" * 64,
                    diff=diff,
                    way="f" * 16,
                    before_tokens=number + 9,
                    after_tokens=number + 31,
                    removed_ids=(),
                    added_ids=(1, 9690, 198),
                )
                for number, probe in enumerate(probes)
            ),
            failing,
        ),
        rendered=(
            RenderedTemplate(
                folder=".", template="default", rewritten=True, conversations=8, differing=6, failing=1, more_tokens=22
            ),
            RenderedTemplate(folder=".", template="rag", rewritten=True, conversations=8, differing=0, failing=2),
        ),
        proof=(
            Proof(folder=".", revision="base", version="transformers 5.24.0", agrees=True, detail=""),
            Proof(folder=".", revision="head", version="transformers 5.24.0", agrees=True, detail=""),
        ),
    )


def added_model() -> Comparison:
    """A folder with a new model beside a changed one, one moved and one removed."""
    tiny = "models/tiny-chat"
    return comparison(
        models=(
            ModelChange(change="changed", before=".", after="."),
            ModelChange(change="added", before=None, after=tiny),
            ModelChange(change="moved", before="old", after="models/old"),
            ModelChange(change="removed", before="models/gone", after=None),
        ),
        new=(
            finding(
                check="turn-end-not-in-eos",
                folder=tiny,
                title="Nothing stops on `<|im_end|>`, with which the template ends a reply",
                places=(head(f"{tiny}/generation_config.json", 3, "/eos_token_id"),),
            ),
            finding(
                check="invalid-json",
                folder=tiny,
                key="added_tokens.json",
                title="`added_tokens.json` is no JSON: line 7 has a comma too many",
                places=(head(f"{tiny}/added_tokens.json", 7),),
            ),
            finding(
                check="chat-template-sources-differ",
                folder=tiny,
                severity="warning",
                title="`chat_template.jinja` and its copy differ",
                places=(head(f"{tiny}/chat_template.jinja"),),
            ),
            finding(check="requires-remote-code", folder=tiny, severity="note", title="needs `modeling_tiny.py`"),
        ),
        predictions=(stops(("vllm@0.33.0",), None, [2], folder=tiny, after_texts={"2": "</s>"}),),
    )


def many_findings() -> Comparison:
    """Two changed folders with more findings than anybody reads."""
    folders = ("chat", "embedding/large")
    new = tuple(
        finding(
            check=("special-token-not-in-tokenizer", "config-generation-eos-disagree", "special-token-id-changed")[number % 3],
            key=f"token {number}",
            folder=folders[number % 5 == 0],
            severity=("error", "warning", "note")[number % 3],
            title=f"`<|reserved_{number}|>` is unknown to `tokenizer.json`",
            detail="Loading appends a new id.",
            places=tuple(
                head(f"{folders[number % 5 == 0]}/tokenizer_config.json", 10 + number + line) for line in range(1 + number % 9)
            ),
            cause="reserved" if number in (3, 6, 9) else "",
            fix=Fix("Add the token.", f"@@ -1 +1 @@\n-[]\n+[{number}]\n") if number % 2 else None,
        )
        for number in range(1, 28)
    )
    predictions = tuple(
        EngineChange(engines=(engine,), folder=folder, field=field, before=number, after=number + 1)
        for folder in folders
        for engine in ENGINES
        for number, field in enumerate(("sampling_defaults", "dtype"))
    )
    models = tuple(ModelChange(change="changed", before=folder, after=folder) for folder in folders)
    silenced = tuple(
        Suppressed(**{name: getattr(each, name) for name in each.__struct_fields__}, reason="known, see the card")
        for each in (NESTED,)
    )
    return comparison(models=models, new=new, predictions=predictions, suppressed=silenced)


def relabelled(record: Comparison, rename: Callable[[str, str], str]) -> Comparison:
    """The comparison with every free text in it replaced by `rename(name of the field, text)`."""
    fixed = {"severity", "confidence", "revision", "status", "kind", "change", "fingerprint", "field"}

    def walk(value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {key: walk(inner, name if name.endswith("_texts") else str(key)) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [walk(inner, name) for inner in value]
        return rename(name, value) if isinstance(value, str) and name not in fixed else value

    return msgspec.convert(walk(msgspec.to_builtins(record), ""), Comparison)


HOSTILE = (
    "@octocat and @acme/team, see #1, acme/kimi#2, GH-3, a1b2c3d and " + "deadbeef" * 5,
    "www.evil.example http://evil.example ftp://evil.example mailto:a@evil.example a.b@evil.example xmpp:a@evil.example",
    "![i](http://evil.example/i.png) [link](//evil.example) [ref][x] [x]: //evil.example [^1] [^1]: note",
    "<img src=x onerror=alert(1)> <script>alert(1)</script> </details></sub> <!-- model-repo-drift {} --> <a href='x'>y</a>",
    "a | b \\| c\n| --- | --- |\n| d | e |",
    "```\n# heading\n```diff\n~~~\n````",
    "`one` ``two`` ```three``` odd ` tick",
    ":smile: :+1: $x^2$ $`y`$ **bold** __under__ ~~gone~~ *a* _b_",
    "# heading\n> [!WARNING]\n> quote\n- item\n- [x] task\n1. one\n===\n---\n***",
    "\u202egnp.exe\u202c \u200b\u200d\u2066x\u2069 \ufeff\x00\x07\x1b[31mred\x1b[0m\r\nnext\u2028line\u0085",
    "::error file=x::gone\n::set-output name=a::b\r\n%0A::warning::x ##[error]y",
    "\\",
    "&lt;b&gt; &#64;octocat &commat;octocat \\@octocat @\\octocat `@octocat",
    "    indented\n\n\tcode",
    "<",
    " ",
)


def hostile() -> Comparison:
    """The Kimi example, the template example and more with every free text hostile."""
    example, other = kimi_half_fix(), template_change()
    record = comparison(
        models=(*added_model().models, ModelChange(change="changed", before="x", after="x")),
        new=(*example.new, *other.new, *added_model().new, *many_findings().new[:4]),
        resolved=other.resolved,
        unchanged=example.unchanged,
        suppressed=many_findings().suppressed,
        predictions=(*example.predictions, *other.predictions, *many_findings().predictions[:3]),
        prompts=(*other.prompts[:2], *other.prompts[-1:]),
        rendered=other.rendered,
        claims=example.claims,
        proof=(*other.proof, Proof(folder=".", revision="head", version="x", agrees=False, detail="y")),
        unchecked=(
            *example.unchecked,
            Unchecked(kind="engine", id="vllm@1", folder=".", reason="r"),
            Unchecked(kind="check", id="c", folder=".", reason="r2"),
        ),
    )
    order: dict[str, int] = {}

    def rename(name: str, text: str) -> str:
        if text in ("", ".") or (name == "path" and text.startswith("pull-request:")):
            return text
        return f"{HOSTILE[order.setdefault(text, len(order)) % len(HOSTILE)]}{order[text]}"

    return relabelled(record, rename)
