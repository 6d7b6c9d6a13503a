from fractions import Fraction

import pytest

from bridge.job.quantity import cpu_text, mebibytes, parse


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2", 2),
        (2, 2),
        (0.5, Fraction(1, 2)),
        ("500m", Fraction(1, 2)),
        ("1.5Gi", 3 * 2**29),
        (".5", Fraction(1, 2)),
        ("1.", 1),
        ("+3", 3),
        ("100n", Fraction(1, 10**7)),
        ("7u", Fraction(7, 10**6)),
        ("1k", 1000),
        ("1M", 10**6),
        ("1G", 10**9),
        ("1T", 10**12),
        ("1P", 10**15),
        ("1E", 10**18),
        ("1Ki", 1024),
        ("1Mi", 2**20),
        ("1Ti", 2**40),
        ("1Pi", 2**50),
        ("1Ei", 2**60),
        ("2e3", 2000),
        ("2E3", 2000),
        ("1e-3", Fraction(1, 1000)),
    ],
)
def test_reads_every_form(text: str | float, amount: Fraction) -> None:
    assert parse(text) == amount


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "1GB", "1K", "-1", "1e999", "0x10", "1,5", "inf", "nan", "9" * 40])
def test_refuses_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no quantity|less than nothing"):
        parse(text)


def test_rounds_up() -> None:
    assert mebibytes(Fraction(1)) == 1
    assert mebibytes(Fraction(2**20)) == 1
    assert mebibytes(Fraction(10**9)) == 954
    assert cpu_text(Fraction(2)) == "2"
    assert cpu_text(Fraction(1, 3)) == "334m"
