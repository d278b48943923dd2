"""Stands between a client and the router, and does to its first requests what networks and busy servers do."""

import http.client
import http.server
import socket
import struct
import threading
import time
import urllib.parse

# What becomes of a request: answered here with that status, cut without an answer before or after the router has it,
# answered after the client's patience, or (planted, to see that it is found) lost with a success.
FAULTS = {"429": 429, "503": 503, "reset": None, "reset-late": None, "slow": None, "lost": 200}


class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, url, fault=None, times=2, patience=1.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = urllib.parse.urlsplit(url).netloc
        self.fault, self.left, self.patience = fault, times if fault else 0, patience
        self.lock = threading.Lock()
        self.seen = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def take_fault(self):
        with self.lock:
            self.seen += 1
            if self.left == 0:
                return None
            self.left -= 1
            return self.fault

    def handle_error(self, request, client_address):
        """A client that is gone is what some faults are for."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fault = self.server.take_fault()
        if fault == "reset":
            return self.reset()
        if fault and FAULTS[fault]:
            return self.answer(FAULTS[fault], [("Retry-After", "1")], b"{}")
        reply = self.forward(body)
        if fault == "reset-late":
            return self.reset()
        if fault == "slow":
            # Longer than the client waits: it sends again what the router has.
            time.sleep(self.server.patience * 2)
        self.answer(*reply)

    def forward(self, body):
        connection = http.client.HTTPConnection(self.server.target, timeout=30)
        connection.request("POST", self.path, body, dict(self.headers))
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        kept = ("content-type", "retry-after", "www-authenticate")
        return reply.status, [(n, v) for n, v in reply.getheaders() if n.lower() in kept], content

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def reset(self):
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, *arguments):
        """Only what is wrong is told, by who compares."""
