"""Tails and quantiles of the laws of tests, where the standard library has none. Closed forms, so for whole
degrees of freedom: Abramowitz and Stegun 26.4.4, 26.4.5 and 26.7.3 to 26.7.5."""

from __future__ import annotations

import math
from statistics import NormalDist


def normal_quantile(probability: float) -> float:
    return NormalDist().inv_cdf(probability)


def normal_cdf(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))


def chi_square_tail(value: float, df: int) -> float:
    """P(X >= value) of a chi-square law."""
    if value <= 0:
        return 1.0
    half = value / 2
    # By logarithms: powers and factorials of many degrees of freedom overflow.
    first = 0.0 if df % 2 == 0 else 0.5
    terms = [math.exp((first + i) * math.log(half) - half - math.lgamma(first + i + 1)) for i in range(df // 2)]
    return min(1.0, math.fsum(terms if df % 2 == 0 else [math.erfc(math.sqrt(half)), *terms]))


def student_inside(value: float, df: int) -> float:
    """P(|T| <= value) of Student's law."""
    theta = math.atan(value / math.sqrt(df))
    cosine, sine = math.cos(theta), math.sin(theta)
    if df == 1:
        return 2 * theta / math.pi
    start = 2 + df % 2
    term = cosine if df % 2 == 1 else 1.0
    total = term
    for i in range(start, df - 1, 2):
        term *= cosine * cosine * (i - 1) / i
        total += term
    return 2 / math.pi * (theta + sine * total) if df % 2 == 1 else sine * total


def f_tail(value: float, df_num: int, df_denom: float) -> float:
    """P(X >= value) of an F law: by I_y(a + 1, b) = I_y(a, b) - y^a (1 - y)^b / (a B(a, b)) (26.5.16) from a of 1/2 or
    1 on. df_denom is a whole number where df_num is odd."""
    if value <= 0:
        return 1.0
    b = df_denom / 2
    ratio = df_num * value / df_denom
    log_y, log_rest = math.log(ratio / (1 + ratio)), -math.log1p(ratio)
    a = 0.5 if df_num % 2 == 1 else 1.0
    tail = math.exp(b * log_rest) if a == 1 else 1 - student_inside(math.sqrt(ratio * df_denom), int(df_denom))
    while a < df_num / 2:
        log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
        tail += math.exp(a * log_y + b * log_rest - log_beta) / a
        a += 1
    return min(1.0, tail)


def student_quantile(probability: float, df: int) -> float:
    """Of a probability from 0.5 up, by halving; of many degrees of freedom by two terms of the expansion about the
    normal quantile (26.7.5), as the sums above get long."""
    if df > 100_000:
        z = normal_quantile(probability)
        return z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
    low, high = 0.0, 1.0
    while student_inside(high, df) < 2 * probability - 1:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if student_inside(middle, df) < 2 * probability - 1:
            low = middle
        else:
            high = middle
    return (low + high) / 2
