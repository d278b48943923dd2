"""Measures what single events cost while few come: context switches and processor time a request, and the time to a destination."""

import contextlib
import json
import os
import re
import socket
import statistics
import subprocess
import tempfile
import threading
import time

from harness.listening import ended, switchyard, told_port
from harness.measure import Failure

EVENT = '{"type":"track","event":"Order Completed","userId":"u1","messageId":"m%d","properties":{"at":%d,"pad":"' + "x" * 550 + '"}}'
AT = re.compile(rb'"at":(\d+)')


def cases(report, command, smoke, progress):
    """`command` returns the command that runs a file of routes."""
    seconds = 1 if smoke else 5
    single = {}
    for providers in (1, 16):
        for events in (1, 10):
            progress(f"sparse: {providers} providers, {events} events a request")
            with routes(noops(providers)) as file, switchyard(command(file)) as (port, process):
                post(port, 1000, 0.5, events)
                switches, microseconds = cost(port, process, 1000, seconds, events)
            name = f"1000/s by {events}, {providers} " + ("provider" if providers == 1 else "providers")
            single[providers, events] = microseconds
            report.add(f"{name}: switches a request", switches, under=4 if (providers, events) == (1, 1) else None)
            report.add(f"{name}: an event", microseconds, "us", under={1: 60, 10: 12}[events] if providers == 1 else None)
    report.add("1000/s by 1, with 15 idle providers / without", single[16, 1] / single[1, 1], under=1.1)
    progress("sparse: the console")
    report.add("lone event to console, 99th percentile", late(console(command, 100, seconds)), "ms", under=1)
    for name, delivery, limit in (("memory", {}, 5), ("durable", {"queue": {"disk": "1GB"}}, 15)):
        progress(f"sparse: to a vendor, {name}")
        times = vendor(command, {"immediate": ["*"], **delivery}, 2000, seconds)
        report.add(f"2000/s to http, immediate, {name}, median", statistics.median(times), "ms")
        report.add(f"2000/s to http, immediate, {name}, p99", late(times), "ms", under=limit)
    progress("")


def late(times):
    return sorted(times)[len(times) * 99 // 100]


# The configurations

def noops(count):
    """Returns the routes of so many providers, of which one gets the events."""
    names = [f"p{number}" for number in range(count)]
    return {"providers": {name: {"plugin": "noop"} for name in names},
            "routes": [{"to": [name], **({"match": {"event": "nothing"}} if number else {})} for number, name in enumerate(names)]}


@contextlib.contextmanager
def routes(content):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(content, file)
        file.flush()
        yield file.name


# The load

def request(first, events):
    one = [EVENT % (first + number, time.monotonic_ns()) for number in range(events)]
    body = (one[0] if events == 1 else "[" + ",".join(one) + "]").encode()
    return b"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def post(port, rate, seconds, events, heard=lambda: None):
    """Posts at a steady rate over one connection, and calls `heard` after each answer. Returns the number of requests."""
    count = int(rate * seconds)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.perf_counter()
        for number in range(count):
            if (wait := start + number / rate - time.perf_counter()) > 0:
                time.sleep(wait)
            connection.sendall(request(number * events, events))
            answer = connection.recv(4096)
            if not answer.startswith(b"HTTP/1.1 2"):
                raise Failure(f"the router answered {answer[:40]!r}")
            heard()
    return count


def cost(port, process, rate, seconds, events):
    """Returns the context switches of a request, and the processor time of an event in microseconds, of all threads of the router."""
    before = used(process)
    count = post(port, rate, seconds, events)
    after = used(process)
    return (after[0] - before[0]) / count, (after[1] - before[1]) / count / events / 1000


def used(process):
    """Returns the switches of all threads of the process, and their processor time in nanoseconds."""
    switches = nanoseconds = 0
    for thread in os.listdir(f"/proc/{process}/task"):
        with contextlib.suppress(FileNotFoundError):
            with open(f"/proc/{process}/task/{thread}/status") as file:
                switches += sum(int(count) for count in re.findall(r"ctxt_switches:\s+(\d+)", file.read()))
            with open(f"/proc/{process}/task/{thread}/schedstat") as file:
                nanoseconds += int(file.read().split()[0])
    return switches, nanoseconds


# The destinations

def console(command, rate, seconds):
    """Returns the milliseconds from each request to its line on standard output."""
    times = []
    with routes({"providers": {"out": {"plugin": "console"}}, "routes": [{"to": ["out"]}]}) as file, tempfile.TemporaryDirectory() as folder:
        errors = os.path.join(folder, "errors")
        with open(errors, "wb") as said:
            process = subprocess.Popen(
                command(file) + ["--http", "127.0.0.1:0", "--state", os.path.join(folder, "state")],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said)

        def heard():
            line = process.stdout.readline()
            times.append((time.monotonic_ns() - int(AT.search(line).group(1))) / 1e6)

        with ended(process):
            post(told_port(process, errors), rate, seconds, 1, heard)
    return times


def vendor(command, delivery, rate, seconds):
    """Returns the milliseconds from each request to its arrival at a server to which `http` posts."""
    times = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, args=(server, times), daemon=True).start()
        provider = {"plugin": "http", "url": f"http://127.0.0.1:{server.getsockname()[1]}/", "delivery": delivery}
        with routes({"providers": {"out": provider}, "routes": [{"to": ["out"]}]}) as file, switchyard(command(file)) as (port, _):
            count = post(port, rate, seconds, 1)
            for _ in range(100):
                if len(times) >= count:
                    break
                time.sleep(0.1)
        if len(times) < count:
            raise Failure(f"{len(times)} of {count} events have arrived")
    return times


def accept(server, times):
    with contextlib.suppress(OSError):
        while True:
            connection, _ = server.accept()
            threading.Thread(target=answer, args=(connection, times), daemon=True).start()


def answer(connection, times):
    """Answers requests with 204, and notes the age of each event."""
    with connection, connection.makefile("rb") as lines, contextlib.suppress(OSError):
        while line := lines.readline():
            length = 0
            while line not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
                line = lines.readline()
            body = lines.read(length)
            now = time.monotonic_ns()
            times.extend((now - int(at)) / 1e6 for at in AT.findall(body))
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
