"""Measures the cost of losing nothing: durable lanes, a backlog, and the effect of one bad provider on the others."""

import contextlib
import json
import os
import shlex
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

from harness.measure import Contender, Failure, patience, ratio, run, spawn


class Durable(Contender):
    """A contender that gets a new state folder for each round, in the folder of the input."""

    def round(self):
        with tempfile.TemporaryDirectory(dir=self.folder) as state:
            command, self.command = self.command, [word.replace("STATE", state) for word in self.command]
            try:
                super().round()
            finally:
                self.command = command


def contender(name, command, input, folder):
    made = Durable(name, command + ["--state", "STATE/state"], input)
    made.folder = folder
    return made


def appending(name, program, input, folder, bytes):
    made = Durable(name, [program, "STATE/file", str(bytes)], input)
    made.folder = folder
    return made


# A backlog

def fill(command, state, input, copies):
    """Sends copies of the input to a lane whose provider is down, which makes a backlog. Returns the peak memory in KiB."""
    with open(os.devnull, "wb") as null, tempfile.TemporaryFile() as errors:
        reader, writer = os.pipe()
        pid = spawn(command + ["--state", state, "--drain", "1ms"], reader, null.fileno(), errors.fileno())
        os.close(reader)
        with patience(pid):
            for _ in range(copies):
                with open(input, "rb") as source:
                    while chunk := source.read(1 << 20):
                        view = memoryview(chunk)
                        while view:
                            view = view[os.write(writer, view):]
            os.close(writer)
            _, _, usage = os.wait4(pid, 0)
        return usage.ru_maxrss


def take_up(command, state, empty):
    """Delivers the whole backlog and returns the result of the run."""
    return run(command + ["--state", state, "--drain", "10m"], empty)


def first_delivery(command, state):
    """Returns the seconds from the start to the first byte that a provider gets of a backlog."""
    reader, writer = os.pipe()
    empty, hold = os.pipe()
    with open(os.devnull, "wb") as null:
        start = time.perf_counter()
        pid = spawn(command + ["--state", state, "--drain", "1ms"], empty, writer, null.fileno())
        os.close(writer)
        with patience(pid):
            first = os.read(reader, 1)
            seconds = time.perf_counter() - start
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    for fd in (reader, empty, hold):
        os.close(fd)
    if not first:
        raise Failure(f"nothing was delivered: {shlex.join(command)}")
    return seconds


# One bad provider among good ones

class BadServer:
    """A server that is bad in one way: it hangs, fails, is slow, or sends byte by byte. In the way `well` it answers at once."""

    def __init__(self, way):
        self.way = way
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.held = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.held.append(connection)
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with contextlib.suppress(OSError):
            while self.way != "hanging" and connection.recv(1 << 16):
                if self.way == "failing":
                    connection.sendall(b"HTTP/1.1 500 no\r\nContent-Length: 0\r\n\r\n")
                elif self.way == "well":
                    connection.sendall(b"HTTP/1.1 204 good\r\n\r\n")
                elif self.way == "slow":
                    time.sleep(0.5)
                    connection.sendall(b"HTTP/1.1 204 late\r\n\r\n")
                else:
                    for byte in b"HTTP/1.1 204 drop by drop\r\n\r\n":
                        connection.sendall(bytes([byte]))
                        time.sleep(0.1)

    def close(self):
        self.listener.close()
        for connection in self.held:
            connection.close()


def latency(executable, port, events, rate):
    """Returns the 99th percentile, in ms, of the time from writing an event to its arrival at a good provider, at `rate` events/s."""
    providers = {"good": {"plugin": "console", "delivery": {"batch": {"wait": "1ms"}}}}
    providers["other"] = {
        "plugin": "http", "url": f"http://127.0.0.1:{port}/", "timeout": {"total": "10s"},
        "delivery": {"batch": {"wait": "10ms"}, "queue": {"memory": "1MB", "disk": "1GB", "full": "spill"}, "retry": {"first": "100ms"}},
    }
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "routes.json"), "w") as file:
            json.dump({"providers": providers, "routes": [{"to": list(providers)}]}, file)
        router = subprocess.Popen(
            [executable, "run", "-c", file.name, "--state", os.path.join(folder, "state"), "--drain", "1ms", "--workers", "1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        taken = []
        complete = threading.Event()

        def listen():
            for line in router.stdout:
                taken.append(time.perf_counter() - json.loads(line)["at"])
                if len(taken) == events:
                    complete.set()
            complete.set()

        listener = threading.Thread(target=listen)
        listener.start()
        start = time.perf_counter()
        for number in range(events):
            pause = start + number / rate - time.perf_counter()
            if pause > 0:
                time.sleep(pause)
            router.stdin.write(json.dumps({"at": time.perf_counter(), "pad": "x" * 600}).encode() + b"\n")
            router.stdin.flush()
        # The end of the input gives the good provider only the 1 ms of --drain, and the last events may still be on their way.
        complete.wait(60)
        router.stdin.close()
        listener.join(60)
        with contextlib.suppress(subprocess.TimeoutExpired):
            router.wait(60)
        router.kill()
        if len(taken) != events:
            raise Failure(f"{len(taken)} of {events} events arrived beside a bad provider")
        return 1000 * statistics.quantiles(taken, n=100)[98]


# The cases

def cases(report, executable, router, append, input, rounds, copies, smoke, progress):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(input)) as folder:
        throughput(report, router, append, input, rounds, folder, progress)
        backlog(report, router, input, copies, folder, progress)
    beside_bad_ones(report, executable, 200 if smoke else 10_000, progress)


def throughput(report, router, append, input, rounds, folder, progress):
    process = contender("switchyard, durable (process) to noop", router("durable-process", 1), input, folder)
    power = contender("switchyard, durable (power) to noop", router("durable-power", 1), input, folder)
    plain = appending("append and fdatasync at each 1 MB", append, input, folder, 1_000_000)
    for number in range(rounds + 1):
        for one in (process, power, plain):
            progress(f"durable, round {number} of {rounds}: {one.name}")
            one.round()
            if number == 0 and rounds > 0:
                one.seconds.clear()
                one.cpu_seconds.clear()
    for one in (process, power, plain):
        report.rate(one)
    report.add("durable (process), to noop", process.rate(), "MB/s", at_least=100)
    report.add("durable (power), to noop", power.rate(), "MB/s", at_least=60)
    report.add("durable (power) / append and fdatasync", ratio(power, plain))


def backlog(report, router, input, copies, folder, progress):
    state = os.path.join(folder, "state")
    size = os.path.getsize(input) * copies
    empty = os.path.join(folder, "empty")
    open(empty, "w").close()
    progress("durable: memory without a backlog")
    without = run(router("durable-process", 1) + ["--state", os.path.join(folder, "other")], input).peak_kb
    progress(f"durable: making a backlog of {size / 1e6:.0f} MB")
    peak = fill(router("backlog", 1), state, input, copies)
    report.add(f"a backlog of {size / 1e9:.1f} GB, more memory than none", max(0, peak - without) / 1024, "MiB", under=32)
    progress("durable: first delivery from the backlog")
    report.add("from start to first delivery of it", first_delivery(router("backlog-console", 1), state), "s", under=2)
    progress("durable: taking up the backlog")
    report.add("taking it up, to noop", size / take_up(router("durable-process", 1), state, empty).seconds / 1e6, "MB/s", at_least=200)


def beside_bad_ones(report, executable, events, progress):
    """Compares the latency of a provider beside a bad one with its latency beside a good one."""
    taken = {}
    ways = ("well", "hanging", "failing", "slow", "dripping")
    for _ in range(3 if events > 1000 else 1):
        for way in ways:
            progress(f"latency beside a provider that is {way}")
            server = BadServer(way)
            try:
                taken.setdefault(way, []).append(latency(executable, server.port, events, 2000))
            finally:
                server.close()
    report.add("99th percentile of delivery, beside one that is well", statistics.median(taken["well"]), "ms")
    for way in ways[1:]:
        ratios = [bad / well for bad, well in zip(taken[way], taken["well"])]
        report.add(f"beside one that is {way}, to that", statistics.median(ratios), under=1.1)
