"""The tokens of a model folder for `inspect`: every string, the ids that it really gets, and who says so."""

import re

from bot.analyze.inspection import Declaration, Load, Said, TokenRow
from bot.analyze.model.declared import Declared, declared
from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.picks import picks
from bot.analyze.model.rope import lacking, ropes
from bot.analyze.model.templates import in_force
from bot.analyze.model.tokenizer_class import rebuilds
from bot.analyze.model.tokenizer_file import TokenizerFile, number
from bot.analyze.model.tokens import needs_remote_code, tokenizer_file, tokens
from bot.analyze.rules.config_fields import refused
from bot.analyze.rules.loaded import V4, V5, Loaded, Refused, loaded
from bot.analyze.tables import config_eos
from bot.answer import Answer, Known, Unknown
from bot.place import Place

LIBRARY = "tokenizers"
CODE = "tokenizer in Python"
_CONFIG_FIRST = "config.json is read first"
_MARKER = re.compile(r"<[^<>\s]{1,60}>|\[[A-Z_/]{2,40}\]|<\|[^<>]{1,60}\|>|<｜[^<>]{1,60}｜>")


@fact
def _by_version(model: Model) -> dict[str, Answer[Loaded | Refused]]:
    if needs_remote_code(model):
        return dict.fromkeys((V4, V5), Unknown("the tokenizer is code of the repository, which is not run"))
    return {version: loaded(model, version) for version in (V4, V5)}


def loads(model: Model) -> tuple[Load, ...]:
    """What each version makes of the tokenizer; an older one is added where its answer follows from that of 4.57.6."""
    found = [_load(model, version, answer) for version, answer in _by_version(model).items()]
    four = found[0]
    if four.reason.startswith("extra_special_tokens"):  # read first by 4.47 (facts of 4.46.3 and 4.47.1, run and read)
        why = "it does not read extra_special_tokens, which later versions refuse here"
        found.insert(0, Load(version="4.46 and older", loads=None, reason=why))
    return tuple(found)


def _load(model: Model, version: str, answer: Answer[Loaded | Refused]) -> Load:
    if not isinstance(answer, Known):
        return Load(version=version, loads=None, reason=answer.reason if isinstance(answer, Unknown) else "there is no tokenizer")
    if isinstance(answer.value, Refused):
        fault = _config_fault(model) if version == V5 and answer.value.reason.startswith(_CONFIG_FIRST) else ""
        return Load(version=version, loads=False, reason=f"{_CONFIG_FIRST}: {fault}" if fault else answer.value.reason)
    found = answer.value
    reason = "there is no vocabulary file: it holds nothing but added tokens" if found.hollow else ""
    return Load(
        version=version,
        loads=True,
        cls=found.cls,
        reason=reason,
        numbering=_numbering(model, found, version),
        size=found.size,
        special_ids=found.special,
    )


def classes(model: Model) -> tuple[Said, ...]:
    """The class that each run of transformers 5 releases picks; one that builds its own tokenizer is said to."""
    runs: list[list[str]] = []
    picked = picks(model)
    for version, name in picked.items():
        if runs and picked[runs[-1][-1]] == name:
            runs[-1].append(version)
        else:
            runs.append([version])
    place = (model.place("tokenizer_config.json", "/tokenizer_class"),)
    return tuple(
        Said(
            about=f"transformers {run[0]}" + (f" to {run[-1]}" if len(run) > 1 else ""),
            value=picked[run[0]] + (", which builds its own tokenizer" if rebuilds(picked[run[0]]) else ""),
            places=place,
        )
        for run in runs
    )


def _config_fault(model: Model) -> str:
    """Why AutoConfig raises what AutoTokenizer of 5.24.0 does not catch, which reads config.json first (models/auto/tokenization_auto.py:806-830, run)."""
    config = model.mapping("config.json")
    for fault in refused(config):
        return f"{'.'.join(fault.path)} {fault.why}"
    model_type = config.get("model_type")
    known = isinstance(model_type, str) and model_type in config_eos()
    for rope in ropes(model):
        if known and (missing := lacking(rope)):
            return f"{rope.name} of type {rope.kind} has no {missing[0]}"
        if not known and not rope.holder.path and rope.kind in ("yarn", "longrope"):
            return f"{rope.name} of type {rope.kind} under a model_type that transformers does not know"
    return ""


def _numbering(model: Model, found: Loaded, version: str) -> str:
    decoder = "added_tokens_decoder" in model.mapping("tokenizer_config.json")
    table = "added_tokens_decoder" if decoder else "added_tokens.json and the list of tokenizer.json"
    if version == V5 and rebuilds(found.cls):
        return f"{found.cls} builds its own tokenizer: added tokens come from {table}, in the order of their declared ids"
    if not model.has("tokenizer.json"):
        return f"there is no tokenizer.json: added tokens come from {table}, in the order of their declared ids"
    return f"ids follow the order of tokenizer.json; flags of {table} win over those of tokenizer.json"


def rows(model: Model) -> tuple[TokenRow, ...]:
    """Every added token and every token that some file declares, by its id in the newest reader that has it."""
    by_text: dict[str, list[Declared]] = {}
    for row in declared(model):
        if row.text:
            by_text.setdefault(row.text, []).append(row)
    ids, special = _ids(model)
    lines = _lines(model)
    found = [
        TokenRow(
            text=text,
            ids=ids.get(text, {}),
            special=special.get(text, {}),
            declared=tuple(_declaration(model, row, lines) for row in by_text.get(text, ())),
        )
        for text in dict.fromkeys((*ids, *by_text))
    ]
    return tuple(sorted(found, key=lambda row: (_first_id(row), row.text)))


def _first_id(row: TokenRow) -> int:
    return next((row.ids[reader] for reader in (V5, V4, LIBRARY, CODE) if reader in row.ids), 1 << 40)


def _lines(model: Model) -> dict[tuple[str, str], dict[str, int]]:
    """The lines of what stands beside each declaration, by file and pointer of what holds it: one pass for a table of thousands."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in declared(model):
        holder = row.pointer.rpartition("/")[0]
        document = model.document(row.file)
        if (row.file, holder) not in found and isinstance(document, Known) and isinstance(document.value, Document):
            found[row.file, holder] = document.value.lines(holder)
    return found


def _declaration(model: Model, row: Declared, lines: dict[tuple[str, str], dict[str, int]]) -> Declaration:
    holder, _, last = row.pointer.rpartition("/")
    line = lines.get((row.file, holder), {}).get(last.replace("~1", "/").replace("~0", "~"), 1)
    place = Place(model.revision, model.path(row.file), row.pointer, line)
    return Declaration(file=row.file, slot=row.slot, id=row.id, special=row.special, read=row.read, place=place)


def _ids(model: Model) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, bool]]]:
    ids: dict[str, dict[str, int]] = {}
    special: dict[str, dict[str, bool]] = {}
    file = tokenizer_file(model)
    if isinstance(file, Known) and isinstance(file.value, TokenizerFile):
        flags = {token.content: token.special for token in file.value.added}
        for text, i in number(file.value, file.value.added).items():
            ids.setdefault(text, {})[LIBRARY] = i
            special.setdefault(text, {})[LIBRARY] = flags[text]
    table = tokens(model)
    if isinstance(table, Known) and table.value.declared:
        for token in table.value.added.values():
            ids.setdefault(token.text, {})[CODE] = token.id
            special.setdefault(token.text, {})[CODE] = token.special
    for version, answer in _by_version(model).items():
        if isinstance(answer, Known) and isinstance(answer.value, Loaded):
            for token in answer.value.added:
                ids.setdefault(token.text, {})[version] = token.id
                special.setdefault(token.text, {})[version] = token.special
    return ids, special


def collisions(tokens: tuple[TokenRow, ...]) -> dict[str, tuple[int, ...]]:
    """The strings that readers or statements give more than one id."""
    found: dict[str, tuple[int, ...]] = {}
    for row in tokens:
        every = {*row.ids.values(), *(said.id for said in row.declared if said.id is not None)}
        if len(every) > 1:
            found[row.text] = tuple(sorted(every))
    return found


def plain_markers(model: Model, tokens: tuple[TokenRow, ...]) -> tuple[str, ...]:
    """The tokens that look like markers, or that a chat template in force writes, and that are not special."""
    texts = "".join(template.text for template in in_force(model))
    return tuple(
        row.text
        for row in tokens
        if row.special
        and not any(row.special.values())
        and (_MARKER.fullmatch(row.text) or (row.text.strip() and row.text in texts))
    )
