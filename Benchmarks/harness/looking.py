"""Measures what those who look at a running router cost: two taps, `top` and the page, beside a stream of events that does not stop.

Windows of time with and without them take turns in one router, so that disturbances affect both. A stream of 100,000 events a second shows if
the lanes keep up and if the memory stays flat; a stream as fast as the router reads shows what one tap takes from it, and what all take.
"""

import contextlib
import http.client
import json
import os
import pty
import re
import signal
import statistics
import subprocess
import tempfile
import threading
import time

from harness.measure import Failure
from harness.waiting import memory

RATE = 100_000
ROUTES = {
    "admin": {"listen": "127.0.0.1:0", "page": True},
    "providers": {"all": {"plugin": "noop"}, "items": {"plugin": "file", "path": "/dev/null"}},
    "routes": [{"name": "all", "to": ["all"]}, {"name": "items", "events": ["item_*"], "to": ["items"]}],
}


def cases(report, executable, input, minutes, smoke, progress):
    window = 0.5 if smoke else 10
    pairs = 1 if smoke else max(2, round(minutes * 60 / (2 * window)))
    with tempfile.TemporaryDirectory() as folder, Router(executable, folder, input) as router:
        router.feed(RATE)
        steady = Windows(router, pairs, window, lambda n: progress(f"looking: 100,000 events a second, {n} of {pairs}"))
        router.feed(None)
        rounds = 1 if smoke else 3
        tapped = Windows(router, rounds, window, lambda n: progress(f"looking: a full stream and one tap, {n}"), Tap)
        full = Windows(router, rounds, window, lambda n: progress(f"looking: a full stream, {n}"))
        for lane in router.lanes:
            report.add(f"100000/s, lane {lane}, looked at / not", steady.ratio(lane), at_least=0.95)
        report.add("100000/s, events a second while looked at", statistics.median(w.rate("all") for w in steady.looked))
        report.add("100000/s, processor time, looked at / not", steady.processor())
        start, middle, end = steady.resident()
        report.add("100000/s, resident at the start", start, "MiB")
        report.add("100000/s, resident in the middle", middle, "MiB")
        report.add("100000/s, resident at the end", end, "MiB")
        report.add("100000/s, resident, end / middle", end / middle, under=1.05)
        for lane in router.lanes:
            report.add(f"a full stream, lane {lane}, one tap / none", tapped.ratio(lane), at_least=0.95)
        for lane in router.lanes:
            report.add(f"a full stream, lane {lane}, looked at / not", full.ratio(lane))
        report.add("a full stream, processor time, looked at / not", full.processor())
        report.note(f"looked at for {sum(w.seconds for w in steady.looked + tapped.looked + full.looked):.0f} s: {router.seen()}")
    progress("")


class Windows:
    """Measures windows without and with those who look, in turn."""

    def __init__(self, router, pairs, seconds, progress, lookers=None):
        lookers = lookers or Lookers
        self.looked, self.alone = [], []
        for number in range(pairs):
            progress(number + 1)
            self.alone.append(Window(router, seconds))
            with lookers(router, seconds):
                self.looked.append(Window(router, seconds))

    def ratio(self, lane):
        return statistics.median(a.rate(lane) / b.rate(lane) for a, b in zip(self.looked, self.alone))

    def processor(self):
        return statistics.median(a.processor / b.processor for a, b in zip(self.looked, self.alone))

    def resident(self):
        """Returns the memory after the first window that was looked at, in the middle and at the end."""
        return self.looked[0].resident, self.looked[len(self.looked) // 2].resident, self.looked[-1].resident


class Window:
    """What the lanes deliver in some seconds, and the processor time of the router for an event."""

    def __init__(self, router, seconds):
        time.sleep(seconds / 10)
        before, used, start = router.delivered(), router.processor(), time.perf_counter()
        time.sleep(seconds)
        after, self.seconds = router.delivered(), time.perf_counter() - start
        self.counts = {lane: after[lane] - before[lane] for lane in after}
        if not all(self.counts.values()):
            raise Failure(f"a lane delivers nothing: {self.counts}")
        self.processor = (router.processor() - used) / self.counts["all"]
        self.resident = memory(router.process.pid)

    def rate(self, lane):
        return self.counts[lane] / self.seconds


class Router:
    """A router that reads standard input, and the thread that writes the events there again and again."""

    def __init__(self, executable, folder, input):
        self.executable, self.folder, self.rate, self.is_over = executable, folder, RATE, False
        self.state, self.errors = os.path.join(folder, "state"), os.path.join(folder, "errors")
        self.lines = {"taps": 0, "tables": 0, "answers": 0}
        with open(input, "rb") as file:
            lines = file.read().splitlines(keepends=True)[:20_000]
        self.chunks = [(len(part), b"".join(part)) for part in (lines[n:n + 500] for n in range(0, len(lines), 500))]

    def __enter__(self):
        routes = os.path.join(self.folder, "routes.json")
        with open(routes, "w", encoding="utf-8") as out:
            json.dump(ROUTES, out)
        command = [self.executable, "run", "-c", routes, "--state", self.state, "--workers", "1"]
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors)
        self.port = self.told_port()
        self.lanes = sorted(self.delivered())
        self.feeder = threading.Thread(target=self.write, daemon=True)
        self.feeder.start()
        return self

    def __exit__(self, kind, *_):
        self.is_over = True
        if kind:
            self.process.kill()
        self.feeder.join()
        if self.process.wait(60) != 0 and not kind:
            raise Failure(f"the router ended with {self.process.returncode}: {self.said()}")

    def feed(self, rate):
        """Sets how many events a second are written, or None for as many as the router reads."""
        self.rate = rate

    def write(self):
        rate = None
        with self.process.stdin as pipe, contextlib.suppress(BrokenPipeError):
            while not self.is_over:
                for count, chunk in self.chunks:
                    if rate != self.rate:
                        rate, due = self.rate, time.perf_counter()
                    if rate:
                        due = max(due + count / rate, time.perf_counter() - 1)
                        time.sleep(max(0, due - time.perf_counter()))
                    pipe.write(chunk)
                    if self.is_over:
                        break

    def said(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return file.read()

    def told_port(self):
        for _ in range(3000):
            if found := re.search(r"admin: listening at 127\.0\.0\.1:(\d+)", self.said()):
                return int(found.group(1))
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise Failure(f"the router does not listen: {self.said()}")

    def ask(self, method, path, headers={}, body=""):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {"Content-Length": str(len(body)), **headers})
        answer = connection.getresponse()
        return answer.headers, answer.read().decode()

    def delivered(self):
        return {lane["provider"]: lane["delivered"] for lane in json.loads(self.ask("GET", "/status")[1])["lanes"]}

    def processor(self):
        """Returns the processor time of the router in seconds."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def seen(self):
        return ", ".join(f"{count} {'bytes of ' if name != 'answers' else ''}{name}" for name, count in self.lines.items())


class Lookers:
    """Two taps, `top` on a terminal, and a browser that has the page and its tap open."""

    def __init__(self, router, seconds):
        self.router, self.is_over, self.pause, self.fault = router, False, min(2, seconds / 4), None

    def __enter__(self):
        self.programs, self.threads = [], []
        self.look()
        return self

    def look(self):
        for options in (["--stage", "in"], ["--stage", "sent", "--where", "type == 'track'"]):
            self.start("taps", ["tap", *options], *os.pipe())
        self.start("tables", ["top"], *pty.openpty())
        self.run(self.browse)

    def __exit__(self, *_):
        self.is_over = True
        for program in self.programs:
            program.send_signal(signal.SIGINT)
        for program in self.programs:
            program.wait(30)
        for thread in self.threads:
            thread.join()
        if self.fault:
            raise Failure(f"the page: {self.fault}")

    def start(self, name, words, reading, writing):
        command = [self.router.executable, *words, "--state", self.router.state]
        with open(os.devnull, "r+b") as null:
            self.programs.append(subprocess.Popen(command, stdin=null, stdout=writing, stderr=null))
        os.close(writing)
        self.run(self.drain, name, reading)

    def run(self, body, *arguments):
        self.threads.append(threading.Thread(target=body, args=arguments, daemon=True))
        self.threads[-1].start()

    def drain(self, name, reading):
        with contextlib.suppress(OSError):  # a terminal without a program
            while bytes := os.read(reading, 1 << 20):
                self.router.lines[name] += len(bytes)
        os.close(reading)

    def browse(self):
        try:
            self.use_page()
        except (OSError, http.client.HTTPException, LookupError, ValueError, subprocess.SubprocessError) as fault:
            self.fault = fault

    def use_page(self):
        router = self.router
        link = subprocess.run([router.executable, "page", "--state", router.state], stdout=subprocess.PIPE, check=True).stdout.decode()
        origin = {"Origin": f"http://127.0.0.1:{router.port}"}
        cookie = router.ask("POST", "/page/enter", origin, "code=" + link.split()[0].split("#")[1])[0]["Set-Cookie"].split(";")[0]
        token = json.loads(router.ask("GET", "/page/data/session", {"Cookie": cookie})[1])["token"]
        own = {**origin, "Cookie": cookie, "X-Switchyard-Token": token}
        tap = json.loads(router.ask("POST", "/page/tap", own, "stage=in")[1].splitlines()[0])
        if "tap" not in tap:
            raise ValueError(tap)
        due = 0
        while not self.is_over:
            if time.perf_counter() >= due:
                due = time.perf_counter() + self.pause
                for name in ("status", "flow", "history", "letters"):
                    router.ask("GET", f"/page/data/{name}", {"Cookie": cookie})
                    router.lines["answers"] += 1
            router.ask("POST", f"/page/tap/{tap['tap']}", own)
            router.lines["answers"] += 1
            time.sleep(0.1)
        router.ask("POST", f"/page/tap/{tap['tap']}/end", own)
        router.ask("POST", "/page/leave", own)


class Tap(Lookers):
    """One tap, and nobody else."""

    def look(self):
        self.start("taps", ["tap"], *os.pipe())
