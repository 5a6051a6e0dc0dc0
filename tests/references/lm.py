#!/usr/bin/env python3
"""Writes lm.json: least squares as R's lm defines it, in exact arithmetic, without a library.

Cells are read as decimal fractions and the normal equations solved in rationals, so that nothing is
lost to the condition of the table. Tails of Student's and Fisher's law are the regularised
incomplete beta function, by its continued fraction (Lentz); quantiles by bisection.
"""
import csv
import json
import math
import pathlib
from fractions import Fraction

TABLE = "tests/tables/winequality_red.csv"
OUTCOME = "quality"


def solve(matrix, right):
    """Gauss-Jordan over the rationals: the solution and the inverse."""
    size = len(matrix)
    rows = [list(matrix[i]) + [Fraction(int(i == j)) for j in range(size)] + [right[i]] for i in range(size)]
    for c in range(size):
        pivot = next(r for r in range(c, size) if rows[r][c] != 0)
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [value / rows[c][c] for value in rows[c]]
        for r in range(size):
            if r != c and rows[r][c] != 0:
                rows[r] = [a - rows[r][c] * b for a, b in zip(rows[r], rows[c])]
    return [row[-1] for row in rows], [row[size:2 * size] for row in rows]


def incomplete_beta(a, b, x):
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    f, c, d = 1.0, 1.0, 0.0
    for i in range(10000):
        m = i // 2
        if i == 0:
            term = 1.0
        elif i % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + term * d or tiny)
        c = 1 + term / c or tiny
        f *= c * d
        if i > 0 and abs(c * d - 1) < 1e-16:
            break
    return front * (f - 1)


def t_two_sided(t, df):
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


def f_upper(f, first, second):
    return incomplete_beta(second / 2, first / 2, second / (second + first * f))


def t_quantile(two_sided, df):
    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_two_sided(middle, df) > two_sided else (low, middle)
    return (low + high) / 2


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    with open(root / TABLE, newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    predictors = [name for name in table[0] if name != OUTCOME]
    x = [[Fraction(1)] + [Fraction(row[name]) for name in predictors] for row in table]
    y = [Fraction(row[OUTCOME]) for row in table]
    n, p = len(x), len(x[0])
    gram = [[sum(row[i] * row[j] for row in x) for j in range(p)] for i in range(p)]
    right = [sum(row[i] * value for row, value in zip(x, y)) for i in range(p)]
    beta, inverse = solve(gram, right)
    residual = sum((value - sum(b * cell for b, cell in zip(beta, row))) ** 2 for row, value in zip(x, y))
    total = sum(value * value for value in y) - sum(y) ** 2 / n
    df = n - p
    r2 = 1 - residual / total
    f = (r2 / (p - 1)) / ((1 - r2) / df)
    reach = t_quantile(0.05, df)
    coefficients = []
    for name, b, i in zip(["(Intercept)"] + predictors, beta, range(p)):
        error = math.sqrt(residual / df * inverse[i][i])
        t = float(b) / error
        coefficients.append({"name": name, "estimate": float(b), "standard_error": error, "t": t,
                             "p_value": t_two_sided(t, df), "ci_lower": float(b) - reach * error,
                             "ci_upper": float(b) + reach * error})
    variance = float(residual) / n
    logl = -0.5 * n * (math.log(2 * math.pi) + math.log(variance) + 1)
    out = {"made_with": "tests/references/lm.py", "data": TABLE,
           "formula": OUTCOME + " ~ " + " + ".join(predictors), "n": n, "df": df,
           "sigma": math.sqrt(residual / df), "r2": float(r2),
           "adjusted_r2": float(1 - (1 - r2) * (n - 1) / df), "f": float(f), "f_df": p - 1,
           "f_p_value": f_upper(float(f), p - 1, df), "logl": logl, "aic": -2 * logl + 2 * (p + 1),
           "bic": -2 * logl + math.log(n) * (p + 1), "coefficients": coefficients}
    with open(root / "tests/references/lm.json", "w", encoding="utf-8") as file:
        json.dump(out, file, indent=1)
        file.write("\n")


main()
