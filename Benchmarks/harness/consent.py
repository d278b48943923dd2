"""Measures the cost of consent on record: the gate with a ledger of a million people, and a withdrawal while a lane is full."""

import http.server
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

from harness.measure import PATIENCE, Contender, Failure, idle_kb, interleave, ratio, run

ACTIVE = 4000  # the number of people on record who have events
SWEPT = 1000  # the number of events of the person who withdraws
IDS = re.compile(rb'"(userId|anonymousId)": ?"[^"]*"')
CONSENT = re.compile(rb', ?"consent": ?\{[^}]*\}')


def cases(report, executable, router, routes, is_module, input, rounds, smoke, progress):
    people = 2000 if smoke else 1_000_000
    with tempfile.TemporaryDirectory(dir=os.path.dirname(input)) as folder:
        state = os.path.join(folder, "state")
        record(report, executable, routes("consent-ledger"), state, people, folder, progress)
        throughput(report, router, state, input, people, rounds, folder, progress)
        progress("consent: memory")
        with_ledger, without = (idle_kb(command, is_module)[0] for command in gates(router, state))
        report.add("a million on record, memory", (with_ledger - without) / 1024, "MiB", under=100)
        withdrawal(report, executable, routes("consent-queue"), input, 1e6 if smoke else 1e9, folder, progress)
    progress("")


def person(number):
    return f"person_{number:09}"


def record(report, executable, plan, state, people, folder, progress):
    """Imports a ledger in which all people agree to everything."""
    progress(f"consent: importing {people} people")
    path = os.path.join(folder, "people.ndjson")
    with open(path, "w") as file:
        file.writelines(f'{{"id":"{person(number)}","level":"detailed"}}\n' for number in range(people))
    command = [executable, "consent", "import", path, "--at", "2026-01-01T00:00:00Z", "-c", plan, "--state", state]
    report.add("importing a million", run(command, os.devnull).seconds, "s", under=60)


# The gate

def gates(router, state):
    """Returns the commands for the same plan with and without a ledger."""
    return [router("consent-ledger", 1) + ["--state", state], router("consent", 1)]


def throughput(report, router, state, input, people, rounds, folder, progress):
    known = rewritten(input, os.path.join(folder, "known.ndjson"), lambda number: person(number * 7919 % ACTIVE * (people // ACTIVE or 1) % people))
    fresh = rewritten(input, os.path.join(folder, "fresh.ndjson"), lambda number: f"nobody_{number:09}")
    for name, events, target in [("the same few thousand", known, 0.9), ("each event of another", fresh, 0.75)]:
        # The time that the start needs to read a ledger of a million people is not measured.
        with_ledger, without = (
            Contender(f"switchyard, {name}, {words}", command, events, from_first_byte=True)
            for words, command in zip(("ledger", "no ledger"), gates(router, state)))
        interleave([with_ledger, without], rounds, lambda text: progress(f"consent: {text}"))
        report.rate(with_ledger)
        report.rate(without)
        report.add(f"{name}, ledger / no ledger", ratio(with_ledger, without), at_least=target)


def rewritten(input, path, name):
    """Writes the events with other ids and returns the path. Both ids of an event belong to one person."""
    with open(input, "rb") as source, open(path, "wb") as target:
        for number, line in enumerate(source):
            id = name(number).encode()
            target.write(IDS.sub(lambda found: b'"%s":"%s"' % (found.group(1), id if found.group(1) == b"userId" else b"a-" + id), line))
    return path


# A withdrawal

class Slow(http.server.BaseHTTPRequestHandler):
    """A provider that is first down and then slow, so that the lane is active all the time."""

    protocol_version = "HTTP/1.1"
    is_up = False
    taken = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.is_up:
            self.taken.append(time.time())
            time.sleep(0.02)
        self.send_response(204 if self.is_up else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def withdrawal(report, executable, plan, input, size, folder, progress):
    """Measures a withdrawal while a lane has `size` bytes of other people's events on disk and delivers them."""
    state = os.path.join(folder, "queue")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.handle_error = lambda *_: None  # the router is killed at the end
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["BENCH_HTTP_URL"] = f"http://127.0.0.1:{server.server_port}/"
    command = [executable, "run", "-c", plan, "--state", state, "--drain", "1ms", "--workers", "1"]
    consent = [executable, "consent"]
    router = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    timer = threading.Timer(4 * PATIENCE, router.kill)
    timer.start()
    try:
        progress(f"consent: queueing {size / 1e6:.0f} MB")
        copies = -(-int(size) // os.path.getsize(input))
        mine = json.dumps({"userId": "who-withdraws", "pad": "x" * 600}).encode() + b"\n"
        wait_for(lambda: os.path.exists(os.path.join(state, "control.sock")), router)
        with open(input, "rb") as source:
            # The consent in the events would keep many of them out of the queue.
            lines = [CONSENT.sub(b"", line) for line in source]
        every = max(1, len(lines) * copies // SWEPT)
        for number in range(len(lines) * copies):
            router.stdin.write(lines[number % len(lines)])
            if number % every == 0:
                router.stdin.write(mine)
        router.stdin.flush()
        wait_for(lambda: judged(executable, state) > len(lines) * copies, router)
        Slow.is_up = True
        wait_for(lambda: len(Slow.taken) > 4, router)
        progress("consent: withdrawing")
        start = time.perf_counter()
        run(consent + ["withdraw", "who-withdraws", "--state", state], os.devnull)
        acknowledged = time.perf_counter() - start
        receipts = consent + ["receipts", "--json", "--state", state]
        receipt = wait_for(lambda: finished(receipts), router)
        destroyed = time.perf_counter() - start
        ended = time.time()
        begun = ended - destroyed
        meanwhile = [at for at in Slow.taken if begun <= at <= ended]
        pauses = [b - a for a, b in zip([begun] + meanwhile, meanwhile + [ended])]
        report.add("a withdrawal, the command, acknowledged", 1000 * acknowledged, "ms", under=50)
        report.add(f"and destroyed, beside {size / 1e9:.3g} GB of others'", destroyed, "s", under=5)
        report.add("longest pause of the deliveries meanwhile", 1000 * max(pauses), "ms", under=500)
        report.note(f"a withdrawal: {sum(place['events'] for place in receipt['places'])} events destroyed, {len(meanwhile)} batches delivered meanwhile")
    finally:
        timer.cancel()
        router.send_signal(signal.SIGKILL)
        router.wait()
        server.shutdown()


def judged(executable, state):
    """Returns the number of events that the router has read."""
    status = subprocess.run([executable, "status", "--json", "--state", state], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return json.loads(status.stdout).get("events", 0) if status.returncode == 0 and status.stdout else 0


def finished(receipts):
    """Returns the only receipt if it is finished, otherwise None."""
    told = subprocess.run(receipts, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    found = json.loads(told.stdout or "[]")
    return found[0] if found and found[0].get("finished") else None


def wait_for(condition, router):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := condition():
            return found
        if router.poll() is not None:
            raise Failure(f"the router ended with {router.returncode}")
        time.sleep(0.01)
    raise Failure(f"a step of the withdrawal case did not happen within {PATIENCE} seconds")
