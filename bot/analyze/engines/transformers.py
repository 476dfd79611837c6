"""transformers: what AutoConfig, AutoTokenizer and a plain generate() of a version do with a folder.

Source: transformers 4.46.3 to 5.24.0, run; for the rules see the modules of each part.
"""

from typing import Any

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import needs_remote_code
from bot.analyze.render import Renders
from bot.analyze.rules import generation
from bot.analyze.rules.config_outcome import config_error, config_loads
from bot.analyze.rules.config_values import config_values
from bot.analyze.rules.encoding import encoded
from bot.analyze.rules.from_transformers import config_needs_remote_code
from bot.analyze.rules.prompt_tokens import Tokens
from bot.analyze.rules.prompt_tokens import prompt_tokens as tokens_of_prompts
from bot.analyze.rules.renders import renders as prompts
from bot.analyze.rules.template_fields import template_fields
from bot.analyze.rules.tokenizer_fields import fields_of_remote_code, tokenizer_fields
from bot.answer import Answer, Known, Unknown
from bot.probe import Probe

ID = "transformers"
NAME = "transformers generate()"
VERSIONS = (
    "4.46.3",
    "4.57.6",
    "5.0.0",
    "5.2.0",
    "5.3.0",
    "5.4.0",
    "5.5.0",
    "5.6.2",
    "5.7.0",
    "5.8.1",
    "5.12.1",
    "5.15.1",
    "5.19.0",
    "5.21.1",
    "5.22.2",
    "5.24.0",
)
COMPARED = ("4.57.6", "5.24.0")  # the last of 4.x is in wide use

Fields = dict[str, Answer[Any]]


def applies(model: Model) -> bool:
    """A folder without any configuration is loaded by nobody's generate()."""
    return model.has(FILE) or model.has(generation.FILE)


def predict(model: Model, version: str) -> Prediction:
    """What the version does; `with_remote_code` has what the repository's own config class or tokenizer changes."""
    fields: Fields = {**of_files(model, version), **tokenizer_fields(model, version)}
    if not _settled(fields["loads.tokenizer"], value=False) and not _settled(fields["loads.tokenizer"], value=None):
        fields |= template_fields(model, version)
    trusted: Fields = {}
    if config_needs_remote_code(model):
        alone = fields
        trusted = {k: v for k, v in of_files(model, version, trusted=True).items() if alone.get(k) != v}
    if needs_remote_code(model):
        trusted |= fields_of_remote_code(model) | template_fields(model, version)
    return Prediction(ID, version, fields, trusted)


def encode(model: Model, version: str, texts: tuple[str, ...]) -> Answer[dict[str, list[int]]]:
    """The ids of each text, special tokens included."""
    return encoded(model, version, texts)


def renders(model: Model, version: str, probes: tuple[Probe, ...]) -> Renders:
    """The prompt of each conversation, by its name."""
    return prompts(model, version, probes)


def prompt_tokens(model: Model, version: str, texts: tuple[str, ...]) -> Answer[Tokens]:
    """The tokens of prompts, as apply_chat_template encodes them."""
    return tokens_of_prompts(model, version, texts)


def of_files(model: Model, version: str, *, trusted: bool = False) -> Fields:
    """What follows from config.json and generation_config.json, without the repository's own code or with it."""
    error = config_error(model, version, trusted=trusted)
    fields: Fields = {
        "loads.config": config_loads(model, version, trusted=trusted),
        "loads.generation_config": generation.loads(model, version),
    }
    if not _settled(error, value=None):
        unnamed = isinstance(error, Known) and error.value == ""
        fields["errors.config.type"] = Unknown("the type of the exception is not known", error.places) if unnamed else error
    given = generation.settings(model, version, trusted=trusted)
    fields |= {"stops": generation.stops(model, given), "sampling_defaults": generation.sampling_defaults(model, given, version)}
    if isinstance(error, Unknown) or _settled(error, value=None):
        values = config_values(model, version)
        fields |= values if isinstance(error, Known) else dict.fromkeys(values, error)
    elif isinstance(error, Known):
        fields["vocab_size_config"] = Known(None, error.places)
    return fields


def _settled(answer: Answer[Any], *, value: bool | None) -> bool:
    return isinstance(answer, Known) and answer.value is value
