"""The API's description as a page that fetches nothing from elsewhere."""

from __future__ import annotations

import html
from typing import Any


def docs_page(description: dict[str, Any]) -> str:
    """HTML of an OpenAPI description."""
    sections = "".join(
        _operation(method, path, operation, description)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    )
    title, version = (html.escape(description["info"][name]) for name in ("title", "version"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}: API</title><link rel="stylesheet" href="/page/page.css">'
        '<link rel="icon" href="/page/icon.svg"></head><body class="docs"><main>'
        f"<h1>{title} <small>{version}</small></h1><p>{_code(description['info']['description'])} "
        '<a href="/openapi.json">openapi.json</a> · <a href="/">search page</a></p>'
        f"{sections}</main></body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any], description: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    bodies = [_resolved(of["schema"], description)["properties"] for of in content.values()]
    fields = [
        _row(name, field, "body" if all(name in body for body in bodies) else "only in a form")
        for name, field in (bodies[-1] if bodies else {}).items()  # the form has every field of the JSON
    ]
    parameters = [_row(of["name"], of["schema"] | of, of["in"]) for of in operation.get("parameters", [])]
    answers = [
        f"<tr><td><code>{html.escape(status)}</code></td><td>{html.escape(of['description'])}</td>"
        f"<td>{_schema(of, description)}</td></tr>"
        for status, of in operation["responses"].items()
    ]
    return (
        f"<section><h2><code>{method.upper()} {html.escape(path)}</code></h2>"
        f"<p><b>{html.escape(operation['summary'])}.</b> {_code(operation.get('description', ''))}</p>"
        + _table("Asked", parameters + fields)
        + _table("Answered", answers)
        + "</section>"
    )


def _row(name: str, field: dict[str, Any], where: str) -> str:
    kinds = [of.get("type", "") for of in field.get("anyOf", [field])]
    kind = " or ".join(filter(None, kinds)) + (f", by default {field['default']}" if field.get("default") else "")
    return (
        f"<tr><td><code>{html.escape(name)}</code></td><td>{_code(field.get('description', ''))}</td>"
        f"<td>{html.escape(kind)}<br><small>{html.escape(where)}</small></td></tr>"
    )


def _schema(answer: dict[str, Any], description: dict[str, Any]) -> str:
    names = [
        name
        for of in answer.get("content", {}).values()
        for name in _resolved(of.get("schema", {}), description).get("properties", {})
    ]
    return " ".join(f"<code>{html.escape(name)}</code>" for name in names) or ", ".join(answer.get("content", {}))


def _resolved(schema: dict[str, Any], description: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return description["components"]["schemas"][name] if name else schema


def _table(title: str, rows: list[str]) -> str:
    return f"<h3>{title}</h3><div class=scroll><table>{''.join(rows)}</table></div>" if rows else ""


def _code(text: str) -> str:
    """Escaped; what is between backticks as code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
