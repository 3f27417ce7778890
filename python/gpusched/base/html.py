"""Small tables of HTML, for notebooks: escaped, without scripts and styles of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first column is text, the others are numbers."""
    head = "".join(f"<th>{escape(name)}</th>" for name in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def page(title: str, *parts: str) -> str:
    """Return a line of text with tables below it."""
    return f"<div><p>{escape(title)}</p>{''.join(parts)}</div>"


def _cell(text: str) -> str:
    return f"<td>{escape(text)}</td>"
