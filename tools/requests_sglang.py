"""Write what sglang's own code hands to a chat template: `python -m tools.requests_sglang VERSION FOLDER`.

FOLDER holds the unpacked wheel of sglang; the interpreter is one with transformers, openai, fastapi and orjson. The schema of a request, the code that serves
chats and the conversations of sglang's own are the real ones; everything else of sglang is replaced by stand-ins, and so is the tokenizer, which notes
what it is called with and raises what a request says. The outcomes of a version replace earlier ones in tests/engine_runs/sglang-requests.json.
"""

import copy
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
import types
from collections import OrderedDict
from collections.abc import MutableSequence, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

OUT = Path(__file__).parent.parent / "tests/engine_runs/sglang-requests.json"
_API, _PARSER = "sglang.srt.entrypoints.openai", "sglang.srt.parser"
_REAL = (
    *(f"{_API}.{name}" for name in ("protocol", "serving_base", "serving_chat", "chat_encoding")),
    *(f"{_PARSER}.{name}" for name in ("jinja_template_utils", "conversation", "hunyuan_reasoning")),
)
_ABSENT = ("sglang", "torch", "zmq", "uvloop", "jsonschema")


class _Meta(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock(name=name)


class _StandIn(types.ModuleType):
    """A module in which every name is there: classes for names that begin with a capital."""

    __path__: MutableSequence[str] = []  # noqa: RUF012 - a module with submodules has one

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known: Any = (
            _Meta(name, (), {"__init__": _nothing, "__class_getitem__": classmethod(_nothing)})
            if name[:1].isupper()
            else MagicMock(name=name)
        )
        if name == "GLM_MEDIA_CONFIG_KEYS":
            known = ()
        setattr(self, name, known)
        return known


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _never(*_: Any, **__: Any) -> bool:
    return False


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> Any:
        del path, target
        if fullname in _REAL:
            file = Path(self.folder, *fullname.split(".")).with_suffix(".py")
            return importlib.util.spec_from_file_location(fullname, file) if file.exists() else None
        absent = fullname.split(".", maxsplit=1)[0] in _ABSENT
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if absent else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        del module


class _Tokenizer:
    """Notes what a template would be given."""

    bos_token_id = None

    def __init__(self, raises: list[str]) -> None:
        self.raises, self.calls = raises, list[dict[str, Any]]()

    def apply_chat_template(self, messages: Any, **words: Any) -> Any:
        kept = {key: value for key, value in words.items() if key not in ("tokenize", "return_dict")}
        self.calls.append(copy.deepcopy({"messages": messages, **kept}))
        if len(self.calls) <= len(self.raises):
            raise _exception(self.raises[len(self.calls) - 1])
        return []

    def encode(self, *_: Any, **__: Any) -> list[int]:
        return []

    def decode(self, *_: Any, **__: Any) -> str:
        return ""


def _exception(name: str) -> Exception:
    jinja: Any = importlib.import_module("jinja2.exceptions")
    builtins: Any = importlib.import_module("builtins")
    return (
        jinja.TemplateSyntaxError("refused", 1)
        if name == "TemplateSyntaxError"
        else (getattr(jinja, name, None) or getattr(builtins, name))("refused")
    )


def outcome(request: dict[str, Any]) -> dict[str, Any]:
    """What the code does with a request: the calls of the template, the prompt of a conversation of its own, or the exception."""
    protocol: Any = importlib.import_module(f"{_API}.protocol")
    serving: Any = importlib.import_module(f"{_API}.serving_chat")
    asked = copy.deepcopy(request)
    server = object.__new__(serving.OpenAIServingChat)
    tokenizer = _Tokenizer(asked.get("raises", []))
    own = asked.get("conversation")
    vars(server).update(
        tokenizer_manager=MagicMock(tokenizer=tokenizer),
        template_manager=types.SimpleNamespace(
            chat_template_name=own,
            jinja_template_content_format="openai" if asked.get("parts") else "string",
            reasoning_config=None,
            jinja_template_may_reorder_tool_results=False,
            python_chat_template=None,
            force_reasoning=False,
        ),
        default_chat_template_kwargs={},
        **dict.fromkeys(
            ("tool_call_parser", "reasoning_parser", "chat_encoding_spec", "_encoding_adapter", "_reasoning_detector")
        ),
        **dict.fromkeys(
            ("is_gpt_oss", "is_gemma4", "is_minimax_m3", "use_dpsk_v32_encoding", "_prompt_text_round_trip_is_lossy"), False
        ),
        _tokenizer_auto_adds_specials=True,
        _takes_turn_grammar=_never,
        _requires_response_template_detokenization=_never,
        _chat_template_cache=OrderedDict(),
    )
    try:
        words = {"tools": asked["tools"]} if "tools" in asked else {}
        whole = protocol.ChatCompletionRequest(model="m", messages=asked["messages"], **words, **_settings(asked))
        if asked.get("closed"):
            if not hasattr(whole, "_format_add_generation_prompt"):
                return {"error": "it always begins a reply"}
            whole._format_add_generation_prompt = False  # noqa: SLF001 - as /v1/tokenize does
        made = server._process_messages(whole, own is not None)
    except Exception as error:  # noqa: BLE001 - whatever it raises is its outcome
        return {"calls": tokenizer.calls, "error": type(error).__name__}
    return {"prompt": made.prompt} if own else {"calls": tokenizer.calls}


def _settings(asked: dict[str, Any]) -> dict[str, Any]:
    return {"chat_template_kwargs": asked["variables"]} if "variables" in asked else {}


def main(version: str, folder: str) -> None:
    """Write the outcomes of one version."""
    sys.modules["xgrammar"] = None  # pyright: ignore[reportArgumentType] - its absence is provided for
    importlib.import_module("transformers.utils.chat_template_utils")
    sys.meta_path.insert(0, _Finder(folder))
    rows: list[dict[str, Any]] = json.loads(OUT.read_text("utf-8"))
    for row in rows:
        row.setdefault("outcomes", {})[version] = outcome(row["request"])
    OUT.write_text(json.dumps(rows, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
