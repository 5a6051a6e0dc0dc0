"""Small tables for reading: as text, as HTML for Jupyter, as records, as a pandas DataFrame."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

Cell = str | float | int | bool | None


def number_text(value: Cell, digits: int = 4) -> str:
    if value is None:
        return ""
    if isinstance(value, (str, bool)):
        return str(value)
    if isinstance(value, int):
        return str(value)
    return f"{value:.{digits}g}"


@dataclass(frozen=True)
class Table:
    """Columns by name, all of one length. `title` stands above it."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return (dict(zip(self.columns, row)) for row in self.rows)

    def column(self, name: str) -> list[Cell]:
        at = list(self.columns).index(name)
        return [row[at] for row in self.rows]

    def to_frame(self) -> Any:
        """A pandas DataFrame; needs pandas."""
        pandas = import_module("pandas")
        return pandas.DataFrame([list(row) for row in self.rows], columns=list(self.columns))

    def _texts(self) -> list[list[str]]:
        return [[number_text(cell) for cell in row] for row in self.rows]

    def __str__(self) -> str:
        texts = self._texts()
        words = [all(isinstance(row[i], str) or row[i] is None for row in self.rows)
                 for i in range(len(self.columns))]
        widths = [max([len(name), *(len(row[i]) for row in texts)]) for i, name in enumerate(self.columns)]

        def line(cells: Sequence[str]) -> str:
            parts = [cell.ljust(width) if word else cell.rjust(width)
                     for cell, width, word in zip(cells, widths, words)]
            return "  ".join(parts).rstrip()

        lines = ([self.title] if self.title else []) + [line(list(self.columns)), *map(line, texts)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def cells(tag: str, texts: Sequence[str]) -> str:
            return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)

        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in self._texts())
        return f"<table>{caption}<thead><tr>{cells('th', list(self.columns))}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Page:
    """Text and tables below each other: a summary, a plan."""

    title: str
    parts: Sequence[str | Table] = field(default_factory=tuple)

    def __str__(self) -> str:
        return "\n\n".join([self.title, *(str(part) for part in self.parts if str(part))])

    def _repr_html_(self) -> str:
        parts = [part._repr_html_() if isinstance(part, Table) else f'<p style="white-space: pre-line">{html.escape(part)}</p>'
                 for part in self.parts if str(part)]
        return f"<div><h4>{html.escape(self.title)}</h4>{''.join(parts)}</div>"


def facts(title: str, values: Mapping[str, Cell]) -> Table:
    """Names and numbers, those that are there."""
    return Table(["", "value"], [[name, value] for name, value in values.items() if value is not None], title)


def records(title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    return Table(list(columns), [[row.get(name) for name in columns] for row in rows], title)
