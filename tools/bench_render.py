"""Measure what rendering takes, and print ratios.

One template: twelve conversations on base and head, the start of the confined process included, against `python -c "import jinja2.sandbox"`.
Many templates in one run: the part of a template's time that compiling it takes.
"""

import statistics
import time
from collections.abc import Callable

from bot.analyze import environment
from bot.analyze.probes import CORE, EXTENDED
from bot.analyze.render import render
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
