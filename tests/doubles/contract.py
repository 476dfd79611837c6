"""GitHub's published API description: holds requests and answers to it, and builds the smallest answers it allows."""

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from openapi_core import OpenAPI
from openapi_core.contrib.werkzeug import WerkzeugOpenAPIRequest, WerkzeugOpenAPIResponse
from werkzeug.wrappers import Request, Response

Json: TypeAlias = Any

WHEN = "2026-01-02T03:04:05Z"
SEVERAL_SEGMENTS = re.compile(
    r"^(/repos/[^/]+/[^/]+/(?:contents|git/ref|git/matching-refs|compare|branches|git/trees|commits)/)(.*?)(/check-runs)?$"
)


class _Asked(WerkzeugOpenAPIRequest):
    """A request whose slashes inside one parameter are hidden: OpenAPI has no parameter of several segments."""

    @property
    def path(self) -> str:
        found = SEVERAL_SEGMENTS.match(super().path)
        return found[1] + (found[2].replace("/", "~") or "~") + (found[3] or "") if found else super().path


class Contract:
    """The description, and what went against it: `violations` holds (request or answer, operation, why)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.violations: list[tuple[str, str, str]] = []
        self._description, self._api = _load()

    def refuses(self, request: Request) -> str:
        """Why the description does not allow `request`, "" when it does."""
        try:
            self._api.validate_request(_Asked(request))
        except Exception as error:  # noqa: BLE001 - whatever the validator says is the answer
            return self._violated("request", request, error)
        return ""

    def check(self, request: Request, response: Response) -> None:
        """Note it when the description does not allow `response`."""
        try:
            self._api.validate_response(_Asked(request), WerkzeugOpenAPIResponse(response))
        except Exception as error:  # noqa: BLE001 - whatever the validator says is the answer
            self._violated("answer", request, error)

    def shape(self, schema: str, /, **over: Json) -> Json:
        """The smallest value of a component schema (required properties only), with `over` laid on top."""
        return self._smallest({"$ref": f"#/components/schemas/{schema}"}, ()) | over

    def _violated(self, kind: str, request: Request, error: Exception) -> str:
        why = _chain(error)
        self.violations.append((kind, f"{request.method} {request.path}", why))
        return why

    def _smallest(self, schema: Json, inside: tuple[str, ...]) -> Json:
        while "$ref" in schema:
            if schema["$ref"] in inside:
                return None
            inside = (*inside, schema["$ref"])
            _, section, kind, name = schema["$ref"].split("/", 3)
            schema = self._description[section][kind][name]
        if schema.get("nullable"):
            return None
        if "enum" in schema:
            return schema["enum"][0]
        if "properties" not in schema:
            for choice in ("anyOf", "oneOf"):
                if choice in schema:
                    return self._smallest(schema[choice][0], inside)
        if "allOf" in schema:
            parts = [self._smallest(part, inside) for part in schema["allOf"]]
            return {key: value for part in parts for key, value in part.items()}
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if kind == "object":
            known = schema.get("properties", {})
            return {key: self._smallest(known[key], inside) for key in schema.get("required", []) if key in known}
        plain = {"array": [], "boolean": False, "integer": schema.get("minimum", 1), "number": schema.get("minimum", 1)}
        if kind in plain:
            return plain[kind]
        return {"date-time": WHEN, "uri": f"{self.url}/x", "email": "a@example.com"}.get(schema.get("format", ""), "x")


@cache
def _load() -> tuple[Json, OpenAPI]:
    text = gzip.decompress((Path(__file__).parent / "github-api.json.gz").read_bytes())
    description = json.loads(text)
    return description, OpenAPI.from_dict(description)


def _chain(error: BaseException | None) -> str:
    """The messages of an error and of what caused it."""
    parts: list[str] = []
    while error is not None and len(parts) < 8:
        parts.append(f"{type(error).__name__}: {str(error)[:300]}")
        details = getattr(error, "schema_errors", ())
        parts += [f"{'/'.join(map(str, detail.absolute_path))}: {detail.message[:200]}" for detail in details]
        error = error.__cause__ or error.__context__
    return " | ".join(parts)
