# Writes describe.json: python3 describe.py ../tables/abalone.csv > describe.json
# Means and standard deviations by exact rational arithmetic (module statistics); quantiles of type 1
# (Hyndman & Fan 1996): the least value that q n values do not exceed.
import csv
import json
import statistics
import sys
from fractions import Fraction

QUANTILES = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]


def describe(texts):
    values = sorted(Fraction(text) for text in texts)
    n = len(values)
    return {
        "n": n,
        "mean": float(statistics.mean(values)),
        "sd": float(statistics.variance(values)) ** 0.5,
        "quantiles": [float(values[-(-q.numerator * n // q.denominator) - 1]) for q in QUANTILES],
    }


with open(sys.argv[1], encoding="utf-8") as table:
    rows = list(csv.DictReader(table))
groups = {sex: [row for row in rows if row["sex"] == sex] for sex in ("F", "I", "M")}
groups["all"] = rows
result = {
    "made_with": f"Python {sys.version.split()[0]}, tests/references/describe.py",
    "data": "tests/tables/abalone.csv",
    "quantiles": [float(q) for q in QUANTILES],
    "variables": {
        name: {group: describe(row[name] for row in members) for group, members in groups.items()}
        for name in ("length", "whole_weight", "rings")
    },
}
json.dump(result, sys.stdout, indent=1)
print()
