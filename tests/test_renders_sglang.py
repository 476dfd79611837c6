"""The prompts of sglang, against what its own code did.

tests/engine_runs/sglang-requests.json holds what the code of nine releases handed to a chat template, request by request, as tools/requests_sglang.py
ran it; the golden records of tests/test_predictions.py hold the prompts of 0.5.23.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bot.analyze.render import Prompt
from bot.analyze.rules.sglang.conversation import written
from bot.analyze.rules.sglang.messages import Given, given, second
from bot.analyze.rules.sglang.releases import RELEASES
from bot.analyze.rules.sglang.requests import REQUESTS
from bot.answer import Unknown

RUNS = Path(__file__).parent / "engine_runs/sglang-requests.json"
ROWS: list[dict[str, Any]] = json.loads(RUNS.read_text("utf-8"))


def same(ours: Any, theirs: Any) -> bool:
    """Whether a template sees no difference: equal values of equal types, keys in the same order."""
    return json.dumps(ours) == json.dumps(theirs)


@pytest.mark.parametrize("release", [*REQUESTS])
def test_a_template_is_given_what_the_release_gave_it(release: str) -> None:
    requests, seen = REQUESTS[release], Counter[str]()
    wrong: list[Any] = []
    for row in ROWS:
        request, did = row["request"], row["outcomes"][release]
        if "conversation" in request or (request.get("closed") and not requests.closes):
            continue
        ours = given(
            request["messages"],
            request.get("tools"),
            requests,
            parts=request.get("parts", False),
            closed=request.get("closed", False),
        )
        match ours:
            case Unknown(reason):
                seen["unknown"] += 1
                assert "was not looked up" in reason
            case Prompt():
                seen["refused"] += 1
                if did["calls"] or did.get("error") != ours.type:
                    wrong.append((request, ours, did))
            case Given():
                seen["given"] += 1
                tools = (ours.tools, ours.tools and second(ours.tools, requests))
                calls = did["calls"]
                if not calls or len(calls) != min(len(request.get("raises", ())) + 1, 2):
                    wrong.append((request, ours, did))
                wrong.extend(
                    (request, ours, call)
                    for call, offered in zip(calls, tools, strict=False)
                    if not (
                        same(ours.messages, call["messages"])
                        and same(offered, call["tools"])
                        and call["add_generation_prompt"] is not request.get("closed", False)
                    )
                )
    assert wrong == [], "\n".join(map(str, wrong))
    assert seen["given"] > 50
    assert seen["refused"] > 20
    assert seen["unknown"] < 5


@pytest.mark.parametrize("release", [*REQUESTS])
def test_exceptions_leave_the_server_as_they_did(release: str) -> None:
    plain, seen = REQUESTS[release].plain, 0
    for row in ROWS:
        raises = row["request"].get("raises", ())
        if len(raises) == 2:
            seen += 1
            error = row["outcomes"][release]["error"]
            assert error == ("ValueError" if raises[1] in plain else raises[1])
    assert seen > 5


@pytest.mark.parametrize("release", [*REQUESTS])
def test_reasoning_effort_and_variables_are_those_of_the_release(release: str) -> None:
    seen = 0
    for row in ROWS:
        for call in row["outcomes"][release].get("calls", ()):
            seen += 1
            assert call.get("reasoning_effort") == REQUESTS[release].effort
            for name, value in row["request"].get("variables", {}).items():
                assert call[name] == value
    assert seen > 50


@pytest.mark.parametrize("release", [*REQUESTS])
def test_conversations_of_sglangs_own_are_written_as_the_release_wrote_them(release: str) -> None:
    names, seen = (RELEASES[release].builtin or {}).values(), Counter[str]()
    for row in ROWS:
        request, did = row["request"], row["outcomes"][release]
        if request.get("conversation") not in names:
            continue
        ours = written(request["conversation"], request["messages"], REQUESTS[release])
        assert isinstance(ours, Prompt), request
        assert (ours.text, ours.type) == (did.get("prompt"), did.get("error", "")), request
        seen[request["conversation"]] += 1
    assert {*seen} == {*names}
