"""Measures a router that listens: its rate over HTTP from a second process on the same cores, and its cost while no client posts."""

import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from harness import nginx, waiting
from harness.measure import PATIENCE, Failure

WRK = shutil.which("wrk")
CONNECTIONS = 64
BYTES, BATCH = 700, 100  # the bytes of a single event, and the events in a batch


# The servers. Each one runs during a with block, which gets its port and the id of the process to measure.

@contextlib.contextmanager
def switchyard(command):
    with tempfile.TemporaryDirectory() as folder:
        errors = os.path.join(folder, "errors")
        with open(errors, "wb") as said:
            process = subprocess.Popen(
                command + ["--http", "127.0.0.1:0", "--state", os.path.join(folder, "state")],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        with ended(process):
            yield told_port(process, errors), process.pid


def told_port(process, errors):
    for _ in range(1000):
        with open(errors) as file:
            said = file.read()
        if found := re.search(r"listening at 127\.0\.0\.1:(\d+)\n", said):
            return int(found.group(1))
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise Failure(f"the router does not listen: {said}")


@contextlib.contextmanager
def answering_nginx():
    with tempfile.TemporaryDirectory() as folder, nginx.serving(folder) as port:
        yield port, None


@contextlib.contextmanager
def fluent_bit(program, configuration):
    port = nginx.free_port()
    process = subprocess.Popen(
        [program, "-q", "-c", configuration], env={**os.environ, "BENCH_HTTP_PORT": str(port)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with ended(process):
        nginx.wait_until_open(process, port, "Fluent Bit")
        yield port, process.pid


@contextlib.contextmanager
def ended(process):
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()


# The load

@dataclass
class Load:
    """A server, the body of its requests, and the results of the rounds."""

    name: str
    start: object
    body: bytes
    events: int = 1
    rates: list = field(default_factory=list)  # requests per second
    late: list = field(default_factory=list)  # the 99th percentile of the answer time in milliseconds
    peak: list = field(default_factory=list)  # the peak memory in MiB at the end
    growth: list = field(default_factory=list)  # the peak memory at the end, divided by that after the warm-up

    def round(self, seconds):
        with self.start() as (port, process):
            post(port, self.body, max(1, seconds // 2))
            before = process and waiting.memory(process, "VmHWM")
            rate, late = post(port, self.body, seconds)
            self.rates.append(rate)
            self.late.append(late)
            if process:
                self.peak.append(waiting.memory(process, "VmHWM"))
                self.growth.append(self.peak[-1] / before)

    def thousands(self):
        return statistics.median(self.rates) * self.events / 1000

    def to(self, other):
        return statistics.median(a / b for a, b in zip(self.rates, other.rates))


def post(port, body, seconds):
    """Posts from 64 connections. Returns the requests per second and the 99th percentile of the answer time in milliseconds."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers", "post.lua")
        done = subprocess.run(
            [WRK, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{port}/v1/events"],
            env={**os.environ, "BENCH_BODY": file.name}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
    said = done.stdout.decode(errors="replace")
    found = re.search(r"^figures (\d+) (\d+) (\d+) \d+ (\d+)$", said, re.M)
    if done.returncode != 0 or not found:
        raise Failure(f"wrk: {said.strip()}")
    requests, microseconds, bad, late = map(int, found.groups())
    if bad or not requests:
        raise Failure(f"wrk: {bad} of {requests} requests were not answered with 2xx")
    return 1e6 * requests / microseconds, late / 1000


def bodies(input):
    """Returns one event of 700 bytes, an array of the first hundred events of the input, and the number of events in the array."""
    with open(input, "rb") as lines:
        batch = [line.rstrip(b"\n") for line, _ in zip(lines, range(BATCH))]
    single = next(line for line in batch if len(line) <= BYTES - 10)
    padded = single[:-1] + b',"pad":"' + b"x" * (BYTES - len(single) - 9) + b'"}'
    return padded, b"[" + b",".join(batch) + b"]", len(batch)


# The cases

def cases(report, router, peer, fluent, input, rounds, smoke, progress):
    if WRK:
        under_load(report, router, peer, fluent, input, rounds, 1 if smoke else 5, progress)
    else:
        report.note("wrk is not installed: the rates of a listener were not measured")
    waiting.cases(report, lambda: switchyard(router("idle", 1)), 200 if smoke else 10_000, 1 if smoke else 10, progress)


def under_load(report, router, peer, fluent, input, rounds, seconds, progress):
    one, many, events = bodies(input)

    def noop():
        return switchyard(router("idle", 1))

    single, batches = Load("single", noop, one), Load("batches", noop, many, events)
    durable = Load("durable", lambda: switchyard(router("durable-process", 1)), one)
    answering = Load("nginx", answering_nginx, one) if nginx.PROGRAM else None
    theirs = []
    if fluent:
        theirs = [Load("Fluent Bit, " + name, lambda: fluent_bit(fluent, peer("fluent-bit-listening.conf")), body, count)
                  for name, body, count in (("single", one, 1), ("batches", many, events))]
    else:
        report.note("Fluent Bit is not installed: a listener was not compared with it; the targets of the rates are 1.2 and 5 times the "
                    "rates of Fluent Bit on another machine with two cores")
    loads = [single, batches, durable] + ([answering] if answering else []) + theirs
    for number in range(rounds):
        for load in loads:
            progress(f"listening, round {number + 1} of {rounds}: {load.name}")
            load.round(seconds)
    progress("")
    report.add("listening, single events, thousand a second", single.thousands(), at_least=None if theirs else 1.2 * 25.8)
    report.add("listening, single events, 99th percentile", statistics.median(single.late), "ms", under=5)
    if answering:
        report.add("listening, single events / nginx's bare 204", single.to(answering))
    report.add("listening, batches, thousand events a second", batches.thousands(), at_least=None if theirs else 5 * 69)
    report.add("listening, batches, peak memory", statistics.median(batches.peak), "MiB")
    report.add("listening, batches, memory to that when warm", statistics.median(batches.growth), under=1.1)
    report.add("listening, durable single events, thousand/s", durable.thousands(), at_least=40)
    if theirs:
        report.add("listening, single events / Fluent Bit", single.to(theirs[0]), at_least=1.2)
        report.add("listening, batches / Fluent Bit", batches.to(theirs[1]), at_least=5)
