"""The caller's rows as the CSV files that the program reads."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from .cells import cell_text
from .design import columns_of, length_of


def write_csv(rows: Any, path: Path, separator: str = ",", decimal: str = ".") -> None:
    """A DataFrame, columns by name or a list of mappings. Readable by its owner only."""
    columns = columns_of(rows)
    path.touch(mode=0o600)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(list(columns))
        for i in range(length_of(columns)):
            cells = [values[i] for values in columns.values()]
            writer.writerow([text if isinstance(cell, str) or decimal == "." else text.replace(".", decimal)
                             for cell, text in ((cell, cell_text(cell)) for cell in cells)])


def table_files(data: Mapping[str, Any], folder: Path, separator: str, decimal: str) -> dict[str, str]:
    """By party the path of its table: paths as they are, rows written into `folder`."""
    files: dict[str, str] = {}
    for party, table in data.items():
        if isinstance(table, (str, PathLike)):
            files[party] = str(Path(table).resolve())
            continue
        path = folder / f"{Path(party).name}.csv"  # messages name it
        write_csv(table, path, separator, decimal)
        files[party] = str(path)
    return files
