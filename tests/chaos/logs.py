"""What pods print, on a compute node whose kubelet stands still: runs there by itself, on the kubelet's port and with
its certificate. A pod has a line for each second that it has lived, one at least, and a last word; the file of its name
in `FOLDER` tells when it began and, once it is over, when it ended."""

import http.server
import os
import ssl
import sys
import threading
import time
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

FOLDER = "/run/chaos-pods"
_PORT = 10250
_PAIR = ("/etc/kubernetes/kubelet.crt", "/etc/kubernetes/kubelet.key")
_TICK = 0.1  # seconds


class Kubelet(http.server.BaseHTTPRequestHandler):
    """Answers /containerLogs/NAMESPACE/POD/CONTAINER."""

    def do_GET(self) -> None:
        """The lines from `sinceTime` on; with `follow` those that are to come, too."""
        path = urlsplit(self.path)
        told = {name: values[0] for name, values in parse_qs(path.query).items()}
        file = f"{FOLDER}/{path.path.split('/')[3]}"
        if not path.path.startswith("/containerLogs/") or not os.path.exists(file):
            self.send_error(400, "the container has not started")
            return
        self.send_response(200)
        self.end_headers()
        since = datetime.fromisoformat(told["sinceTime"]).timestamp() if "sinceTime" in told else 0.0
        sent = 0
        while True:
            lines, is_over = _lines(file)
            new = [f"{_stamp(at)} {text}\n" for at, text in lines[sent:] if at >= since]
            self.wfile.write("".join(new).encode())
            self.wfile.flush()
            sent = len(lines)
            if is_over or "follow" not in told:
                return
            time.sleep(_TICK)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def _lines(file: str) -> tuple[list[tuple[float, str]], bool]:
    with open(file, encoding="ascii") as told:
        began, *ended = (float(word) for word in told.read().split())
    until = ended[0] if ended else time.time()
    lines = [(began + second, f"second {second}") for second in range(int(until - began) + 1)]
    return [*lines, *((at, "over") for at in ended)], bool(ended)


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "000Z")


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A reader that goes away is no news."""


def main() -> None:
    """Until standard input ends."""
    os.makedirs(FOLDER, exist_ok=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*_PAIR)
    with _Server(("", _PORT), Kubelet) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.read()


if __name__ == "__main__":
    main()
