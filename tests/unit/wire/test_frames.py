"""Frames: whole messages out of any cut of the stream, and nothing else."""

import socket

import pytest

from bridge.wire.frames import Channel, Decoder, FrameError, encode


def test_messages_survive_any_cut() -> None:
    stream = encode({"n": 1}) + encode({"text": "ä\n"}) + encode({})
    for cut in range(len(stream) + 1):
        decoder = Decoder()
        messages = decoder.feed(stream[:cut]) + decoder.feed(stream[cut:])
        assert messages == [{"n": 1}, {"text": "ä\n"}, {}]
        assert not decoder.pending


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n",
        b"-1\n",
        b"\n",
        b"999999999\n",
        b"123456789",
        b"3\nabc",
        b"2\n[]",
        b"4\nnull",
        b"2\n\xff\xff",
    ],
)
def test_garbage_is_refused(garbage: bytes) -> None:
    with pytest.raises(FrameError):
        Decoder().feed(garbage)


def test_nested_json_does_not_exhaust_the_stack() -> None:
    body = b"[" * 500_000
    with pytest.raises(FrameError):
        Decoder().feed(b"%d\n%s" % (len(body), body))


def test_a_frame_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(FrameError, match="over the limit"):
        Decoder(limit=10).feed(b"11\n")
    with pytest.raises(FrameError, match="over the limit"):
        encode({"x": "y" * (3 * 1024 * 1024)})


def test_channel_tells_a_clean_end_from_a_broken_one() -> None:
    left, right = socket.socketpair()
    with left, right:
        left.sendall(encode({"a": 1}))
        left.shutdown(socket.SHUT_WR)
        channel = Channel(right)
        assert channel.receive() == {"a": 1}
        assert channel.receive() is None
    left, right = socket.socketpair()
    with left, right:
        left.sendall(b"10\n{")
        left.shutdown(socket.SHUT_WR)
        with pytest.raises(FrameError, match="in the middle"):
            Channel(right).receive()
