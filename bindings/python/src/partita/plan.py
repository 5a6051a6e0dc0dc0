"""What a study will do, open and cost, before anything runs."""

from __future__ import annotations

from textwrap import fill

from .program import Json
from .table import Page, Table, records


def _item(text: str) -> str:
    return fill(text, 110, initial_indent="  - ", subsequent_indent="    ")


def _exposes(exposure: Json) -> list[str]:
    bits = exposure.get("bits")
    return [*exposure["exposes"], *([bits["meaning"]] if bits else [])]


class Plan:
    """`raw` is the plan's JSON (docs/result-json.md)."""

    def __init__(self, raw: Json) -> None:
        self.raw = raw

    @property
    def hash(self) -> str:
        return str(self.raw["plan_hash"])

    @property
    def rounds(self) -> int:
        return int(self.raw["totals"]["rounds"])

    @property
    def bytes(self) -> int:
        return int(self.raw["totals"]["bytes"])

    def learns(self) -> dict[str, list[str]]:
        """By party what it learns."""
        return {party["name"]: [str(text) for text in party["learns"]] for party in self.raw["parties"]}

    def releases(self) -> Table:
        return records("Opens", self.raw["releases"], ["id", "what", "to", "mechanism", "max_count"])

    def estimates(self) -> Table:
        return records("Network time", self.raw["estimates"], ["network", "seconds"])

    def page(self) -> Page:
        parts: list[str | Table] = [f"{self.raw['method']}, engine {self.raw['engine']}, {self.raw['partition']}: "
                                    f"{self.rounds} rounds, {self.bytes} bytes"]
        for party in self.raw["parties"]:
            clauses = party["learns"] or ["nothing beyond this plan"]
            parts.append("\n".join([f"{party['name']} ({', '.join(party['roles'])}) learns:", *map(_item, clauses)]))
        opens = [_item(f"{of['id']}, to {of['to']}, {of['mechanism']}"
                       + (f", at most {of['max_count']} times" if of["max_count"] > 1 else "") + f": {of['what']}")
                 for of in self.raw["releases"]]
        away = [_item(f"{of['of']}, to {of['to']}: " + "; ".join(_exposes(of))) for of in self.raw["exposures"]]
        away += [_item(f"{of['adversary']}: {of['loss']}") for of in self.raw["privacy"]]
        away += [_item(str(note)) for note in self.raw["notes"]]
        return Page(f"Plan of {self.raw['title'] or self.raw['study']}",
                    [*parts, "\n".join(["Opens:", *opens]), "\n".join(["Gives away:", *away]), self.estimates()])

    def __str__(self) -> str:
        return str(self.page())

    def __repr__(self) -> str:
        return f"<Plan of study {self.raw['study']!r}: {self.rounds} rounds, {self.bytes} bytes>"

    def _repr_html_(self) -> str:
        return self.page()._repr_html_()
