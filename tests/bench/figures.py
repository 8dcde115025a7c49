"""The results of benchmarks: figures, their limits, and their table."""

import dataclasses
import json


@dataclasses.dataclass
class Figure:
    name: str
    value: float | str | None = None  # None: not measured
    unit: str = ""
    limit: float | None = None  # the largest permitted value
    right: bool | None = None  # for figures without a number: whether it is correct
    limit_text: str = ""
    skipped: str = ""  # why it was not measured
    group: str = ""

    @property
    def passed(self):
        """None without a limit or without a measurement."""
        if self.value is None:
            return None
        return self.value <= self.limit if self.limit is not None else self.right

    @property
    def verdict(self):
        if self.skipped:
            return "SKIPPED"
        return {True: "ok", False: "BROKEN", None: ""}[self.passed]

    def columns(self):
        limit = self.limit_text
        if self.limit is not None:
            limit = "<= " + number(self.limit, self.unit)
        value = self.skipped if self.skipped else number(self.value, self.unit)
        return [self.name, value, limit, self.verdict]


def skipped(name, why):
    return Figure(name, skipped=why)


def number(value, unit):
    if isinstance(value, str):
        return value
    digits = 0 if value == int(value) or abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()


def table(figures):
    rows = [["figure", "value", "limit", ""]]
    group = None
    for figure in figures:
        if figure.group != group:
            group = figure.group
            rows.append([group.upper()])
        rows.append(["  " + figure.name] + figure.columns()[1:])
    widths = [max(len(row[i]) for row in rows if len(row) > 1) for i in range(4)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        if len(row) > 1:
            cells[1], cells[2] = row[1].rjust(widths[1]), row[2].rjust(widths[2])
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write_json(path, machine, figures):
    entries = [dataclasses.asdict(f) | {"passed": f.passed} for f in figures]
    with open(path, "w") as file:
        json.dump({"machine": machine, "figures": entries}, file, indent=1)
        file.write("\n")
