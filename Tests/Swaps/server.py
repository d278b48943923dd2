"""A server on loopback in the place of a vendor: it takes events in the vendor's shape, up to a limit, and then refuses every request.

It notes each event that it takes, by number, before it answers. So what it has noted is all that the router can have counted as delivered,
and the router cannot know of what it has noted after the router was killed. A request in a wrong shape is a fault of the router.
"""

import socket
import threading

from modules import Strange

REFUSALS = {
    "busy": (503, ""),
    "later": (429, "Retry-After: 3600\r\n"),
    "key": (401, ""),
    "silent": None,
}


class Request:
    def __init__(self, method, path, headers, body):
        self.method, self.path, self.headers, self.body = method, path, headers, body


class Server:
    def __init__(self, module, events):
        self.module, self.events = module, events
        self.changed = threading.Condition()
        self.taken = {}  # for each number, the wire events that were taken
        self.count = 0  # the events that were taken, repeated ones too
        self.limit, self.refusal = None, "busy"
        self.refused = 0  # the requests that were refused
        self.strange = None  # the first request in a wrong shape
        self.connections = 0
        self.is_closed = False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()
        self.listener.close()

    def wait(self, is_so, patience):
        """Waits until a condition holds. Returns false if it does not in time."""
        with self.changed:
            return self.changed.wait_for(lambda: is_so() or self.strange, patience) and not self.strange

    def settle(self, patience):
        """Waits until what a killed router had sent is read: every connection has ended."""
        return self.wait(lambda: self.connections == 0, patience)

    # The connections

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.changed:
                self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, connection.makefile("rb", buffering=1 << 16) as stream:
                while (request := read(stream)) and (answer := self.answer(request)):
                    connection.sendall(answer)
                # Without an answer the connection stays until the router gives up.
                while request and not self.is_closed and connection.recv(1 << 16):
                    pass
        except OSError:
            pass
        finally:
            with self.changed:
                self.connections -= 1
                self.changed.notify_all()

    def answer(self, request):
        try:
            wires = self.module.read(request, self.events)
        except Strange as strange:
            return self.report(strange)
        except Exception as fault:  # a body that is so strange that it cannot be read
            return self.report(f"{type(fault).__name__}: {fault}: {request.method} {request.path} {request.body[:300]}")
        with self.changed:
            if self.limit is not None and self.count + len(wires) > self.limit:
                self.refused += 1
                self.changed.notify_all()
                return self.refuse()
            for number, wire in wires:
                self.taken.setdefault(number, []).append(wire)
            self.count += len(wires)
            self.changed.notify_all()
        status, body = self.module.taken(request, len(wires))
        return b"HTTP/1.1 %d -\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)

    def report(self, strange):
        with self.changed:
            self.strange = self.strange or str(strange)
            self.changed.notify_all()
        return b"HTTP/1.1 503 -\r\nContent-Length: 0\r\n\r\n"

    def refuse(self):
        if (refusal := REFUSALS[self.refusal]) is None:
            return None
        status, headers = refusal
        return f"HTTP/1.1 {status} -\r\n{headers}Content-Length: 0\r\n\r\n".encode()


def read(stream):
    """Reads a request. Returns None at the end, also if it comes in the middle of the request: then no answer was given."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        return None
    method, path, _ = line.decode().split(" ")
    headers = {}
    while (line := stream.readline()) != b"\r\n":
        if not line.endswith(b"\r\n"):
            return None
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers["content-length"])
    body = stream.read(length)
    return Request(method, path, headers, body) if len(body) == length else None
