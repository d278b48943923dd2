"""A client of NATS for the checks: one connection, requests, and reading a whole stream. It uses only the standard library."""

import json
import socket
import time


class Gone(Exception):
    """The server does not answer."""


class Client:
    def __init__(self, port, seconds=10, options=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self.reader = self.socket.makefile("rb")
        self.info = json.loads(self.line().split(b" ", 1)[1])
        self.subscriptions = 0
        # Messages that came while an answer was waited for.
        self.early = []
        self.send("CONNECT " + json.dumps({"verbose": False, "pedantic": False, "headers": True, "no_responders": True, **(options or {})}))
        self.send("PING")
        while not (line := self.line()).startswith(b"PONG"):
            if line.startswith(b"-ERR"):
                raise Gone(line.decode().strip())

    def close(self):
        self.socket.close()

    def send(self, line, data=None):
        text = line.encode() + b"\r\n"
        self.socket.sendall(text if data is None else text + data + b"\r\n")

    def line(self):
        line = self.reader.readline()
        if not line:
            raise Gone("the server ended the connection")
        return line

    def message(self):
        """Returns the headers and the data of the next message, and its subject."""
        return self.early.pop(0) if self.early else self.next()

    def next(self):
        while True:
            words = self.line().split()
            if words[0] == b"PING":
                self.send("PONG")
            elif words[0] in (b"MSG", b"HMSG"):
                sizes = [int(words[-1])] if words[0] == b"MSG" else [int(words[-2]), int(words[-1])]
                data = self.reader.read(sizes[-1] + 2)[:-2]
                head = sizes[0] if len(sizes) == 2 else 0
                return data[:head].decode(), data[head:], words[1].decode()
            elif words[0] == b"-ERR":
                raise Gone(b" ".join(words).decode())

    def subscribe(self, subject):
        self.subscriptions += 1
        self.send(f"SUB {subject} {self.subscriptions}")
        return self.subscriptions

    def request(self, subject, body):
        inbox = f"_INBOX.check.{time.monotonic_ns()}"
        self.subscribe(inbox)
        data = json.dumps(body).encode()
        self.send(f"PUB {subject} {inbox} {len(data)}", data)
        while True:
            headers, answer, subject = self.next()
            if subject == inbox:
                break
            self.early.append((headers, answer, subject))
        if "503" in headers:
            raise Gone("nobody answers the request")
        return json.loads(answer)

    def ask(self, subject, body):
        """A request to JetStream. An error in the answer raises Gone."""
        answer = self.request("$JS.API." + subject, body)
        if "error" in answer:
            raise Gone(json.dumps(answer["error"]))
        return answer

    def make_stream(self, name, subjects, replicas=1, **more):
        self.ask(f"STREAM.CREATE.{name}", {
            "name": name, "subjects": subjects, "retention": "limits", "storage": "file", "num_replicas": replicas,
            "duplicate_window": 120_000_000_000, "max_msgs": -1, "max_bytes": -1, "max_age": 0, "discard": "old", **more})

    def messages(self, stream):
        """Yields the subject, the id and the data of every message of a stream."""
        count = self.ask(f"STREAM.INFO.{stream}", {})["state"]["messages"]
        inbox = f"_INBOX.read.{time.monotonic_ns()}"
        self.subscribe(inbox)
        self.ask(f"CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": {
            "deliver_subject": inbox, "ack_policy": "none", "deliver_policy": "all", "replay_policy": "instant"}})
        for _ in range(count):
            headers, data, subject = self.message()
            ids = [line[len("Nats-Msg-Id: "):] for line in headers.split("\r\n") if line.startswith("Nats-Msg-Id: ")]
            yield subject, ids[0] if ids else None, data


def until_ready(port, seconds=60, options=None):
    """Waits until a server answers requests to JetStream."""
    end = time.monotonic() + seconds
    while True:
        try:
            client = Client(port, options=options)
            client.ask("INFO", {})
            return client
        except (OSError, Gone) as error:
            if time.monotonic() > end:
                raise Gone(f"the server on port {port} is not ready after {seconds} s: {error}")
            time.sleep(0.05)
