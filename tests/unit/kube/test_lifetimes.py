"""When tokens and certificates begin and end."""

import base64
import json
import random
import time

import pytest

from bridge.kube.lifetimes import Life, of_certificate, of_token
from tests.certificates import DAY, Authority

MADE = time.time()
PAIR = Authority().issue(begins=-2 * DAY, ends=30 * DAY)


def jwt(**claims: object) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"Bearer e30.{payload}.c2ln"


def test_a_certificate_says_from_when_until_when_it_is_good() -> None:
    life = of_certificate(PAIR.certificate.encode())
    assert life is not None
    assert life.begins == pytest.approx(MADE - 2 * 86400, abs=60)
    assert life.ends == pytest.approx(MADE + 30 * 86400, abs=60)


def test_after_2049_a_certificate_writes_its_years_in_full() -> None:
    life = of_certificate(Authority().issue(ends=40 * 365 * DAY).certificate.encode())
    assert life is not None and life.ends == pytest.approx(time.time() + 40 * 365 * 86400, abs=60)


def test_of_several_the_first_one_counts() -> None:
    other = Authority().issue(ends=99 * DAY).certificate
    assert of_certificate((PAIR.certificate + other).encode()) == of_certificate(PAIR.certificate.encode())


@pytest.mark.parametrize(
    "text",
    [b"", b"no certificate", PAIR.key.encode(), b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"],
)
def test_what_is_no_certificate_has_no_dates(text: bytes) -> None:
    assert of_certificate(text) is None


def test_a_mangled_certificate_is_one_without_dates_or_with_some() -> None:
    body = base64.b64decode("".join(PAIR.certificate.splitlines()[1:-1]))
    chance = random.Random(6)
    for _ in range(2000):
        mangled = bytearray(body)
        for _ in range(chance.randint(1, 8)):
            mangled[chance.randrange(len(mangled))] = chance.randrange(256)
        pem = base64.encodebytes(bytes(mangled[: chance.randint(1, len(mangled))]))
        of_certificate(b"-----BEGIN CERTIFICATE-----\n" + pem + b"-----END CERTIFICATE-----")


def test_a_token_says_it_too() -> None:
    assert of_token(jwt(nbf=5, iat=4, exp=10)) == Life(5.0, 10.0)
    assert of_token(jwt(iat=4, exp=10)) == Life(4.0, 10.0)


@pytest.mark.parametrize("token", ["", "Bearer opaque", "a.b.c", jwt(), jwt(exp="soon"), jwt(exp=[1]), "a.W10.c"])
def test_what_says_no_end_has_none(token: str) -> None:
    assert of_token(token) is None
