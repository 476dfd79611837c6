"""Measure what rendering takes, and print ratios.

One template: twelve conversations on base and head, the start of the confined process included, against `python -c "import jinja2.sandbox"`.
Many templates in one run: the part of a template's time that compiling it takes.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bot.analyze import child, environment, jail
from bot.analyze.probes import CORE, EXTENDED
from bot.analyze.records import Comparison
from bot.analyze.render import render
from bot.fetch.gather import gather
from bot.probe import Probe

ROUNDS = 7
TARGET = 3.0
TEMPLATES = 60
TWELVE: tuple[Probe, ...] = (*CORE, *EXTENDED)[:12]
# As long as those that models are published with: a system turn, tools as JSON, calls and their answers, thinking.
TEMPLATE = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- "# Tools\\n\\nYou may call one or more functions.\\n\\n<tools>" }}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "\\n</tools>\\n\\nFor each call return a JSON object within <tool_call></tool_call> tags.<|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(last=messages|length - 1, seen=false) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if not ns.seen and message.role == 'user' and message.content is string %}
        {%- set ns.seen = true %}{%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set reasoning = message.reasoning_content if message.reasoning_content is string else '' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if loop.index0 > ns.last and reasoning %}{{- '<think>\\n' + reasoning.strip('\\n') + '\\n</think>\\n\\n' }}{%- endif %}
        {{- content.lstrip('\\n') }}
        {%- for call in message.tool_calls or [] %}
            {%- set call = call.function if call.function else call %}
            {{- '\\n<tool_call>\\n{"name": "' + call.name + '", "arguments": ' }}
            {%- if call.arguments is string %}{{- call.arguments }}{%- else %}{{- call.arguments | tojson }}{%- endif %}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
"""


def seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median of some rounds, after one that warms the disk."""
    work()
    taken: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def many() -> tuple[float, float]:
    """Seconds per template for compiling it and for rendering twelve conversations with it."""
    texts = [f"{TEMPLATE}{{# {number} #}}" for number in range(TEMPLATES)]
    start = time.perf_counter()
    for text in texts:
        environment.code(text)
    between = time.perf_counter()
    for text in texts:
        for probe in TWELVE:
            render(text, probe.messages, {"eos_token": "<|im_end|>"}, probe.variables)
    end = time.perf_counter()
    return (between - start) / TEMPLATES, (end - between) / TEMPLATES


# The child of a comparison without what judges and predicts: it confines itself, reads the exchange, and compares the prompts.
PROGRAM = """
import gc; gc.disable()
import sys; sys.modules["typing_extensions"] = None; sys.path.insert(0, sys.argv.pop(1))
from pathlib import Path
import msgspec
from bot.analyze.limits import confine
from bot.analyze.model.discovery import pairs
from bot.analyze.model.reader import Reader
from bot.analyze.prompts import prompts
from bot.analyze.render import render
from bot.snapshot import Exchange
folder = Path(sys.stdin.readline().rstrip())
exchange = Exchange.load(folder)
reader = Reader.of_open_folder(folder / "contents")
for text in ("{{ messages[0] | tojson }}{{ ' ' | trim }}", "{{ nothing.at_all }}"):  # what is imported on first use
    render(text, [{"role": "user"}], {})
missing = confine(seconds=60, memory=3 << 30)
changed = [change for pair in pairs(exchange, reader) for change in prompts(pair.base, pair.head, exchange.probes, []).changes]
sys.stdout.buffer.write(msgspec.json.encode([missing, changed]))
sys.stdout.buffer.flush()
import os; os._exit(0)
"""


def exchanged(folder: Path) -> Path:
    """An exchange folder of one model whose chat template differs, and the twelve conversations."""
    for side, word in (("base", "Tools"), ("head", "TOOLS")):
        config = {"eos_token": "<|im_end|>", "chat_template": TEMPLATE.replace("# Tools", f"# {word}")}
        (folder / side).mkdir()
        (folder / side / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    exchange = folder / "exchange"
    gather(exchange, base=str(folder / "base"), head=str(folder / "head"), repo=Path(), probes=TWELVE)
    jail.open_contents(exchange)
    return exchange


def confined(exchange: Path) -> int:
    """Start the confined process, have the prompts compared, and return how many differ."""
    ended = jail.once(child.start(os.environ, PROGRAM), f"{exchange}\n", jail.SECONDS)
    if ended.status != 0:
        raise SystemExit(f"the process ended with {ended.status}: {ended.errors}")
    differing = len(msgspec.json.decode(ended.output)[1])
    if not differing:
        raise SystemExit("no prompt differs: the templates were not rendered")
    return differing


def judged(exchange: Path) -> None:
    """The same within a whole comparison: every check and every engine looks as well."""
    with jail.Cell(os.environ) as cell:
        cell.run(exchange, Comparison)


def main() -> int:
    """Print both ratios; 1 when the first is over its target or compiling is the smaller part."""
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        exchange = exchanged(Path(place))
        least = seconds(lambda: subprocess.run([sys.executable, "-c", "import jinja2.sandbox"], check=True))
        differing = confined(exchange)
        one, whole = seconds(lambda: confined(exchange)), seconds(lambda: judged(exchange))
    compiling, rendering = many()
    share = compiling / (compiling + rendering)
    print(f"import jinja2.sandbox            {least * 1000:6.0f} ms")
    print(f"twelve conversations, two sides  {one * 1000:6.0f} ms, {differing} differ: ratio {one / least:.2f} of {TARGET:g}")
    print(f"within a whole comparison        {whole * 1000:6.0f} ms: ratio {whole / least:.2f}")
    print(
        f"{TEMPLATES} templates: compiling one {compiling * 1000:.1f} ms, rendering it twelve times {rendering * 1000:.1f} ms: part {share:.2f} of 0.5 at least"
    )
    return int(one > TARGET * least or share < 0.5)


if __name__ == "__main__":
    sys.exit(main())
