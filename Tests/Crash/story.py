"""A story: one state folder, the runs of the router that use it, and the check of what they delivered.

`piped.py` and `posted.py` feed the events and note which of them were acknowledged. This file does the rest. The same seed gives the same
lanes and the same scenes, but the machine decides at which point of the program a kill arrives.
"""

import contextlib
import glob
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile

PATIENCE = 60  # seconds until a router that should have ended counts as hung
KINDS = ["process", "power", "spill", "memory", "exec"]

EXEC = """
import json, os, sys
out = open(sys.argv[1], "a", buffering=1)
for line in sys.stdin:
    n = json.loads(line)["n"]
    if n % 97 == 13:
        print(json.dumps({"outcome": "rejected", "code": 1, "message": "an unlucky number"}), flush=True)
    elif n % 11 == 3 and os.urandom(1)[0] < 128:
        print(json.dumps({"outcome": "retry", "retry_after_ms": 1}), flush=True)
    else:
        out.write(line)
        print(json.dumps({"outcome": "delivered"}), flush=True)
"""


class Failed(Exception):
    pass


class Story:
    is_ordered = True  # True if events reach the router in the order of their numbers

    def __init__(self, router, seed, kills, planted=False):
        self.router, self.seed, self.kills, self.planted = router, seed, kills, planted
        self.chance = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="switchyard-crash-")
        self.lanes = self.pick_lanes()
        self.is_encrypted = self.chance.random() < 0.25
        self.run_number = 0
        self.highest = 0  # the greatest number that was sent
        self.sent_in = {}  # for each number, the runs in which it was sent
        self.killed = set()  # the runs that were killed
        self.write_configuration()

    # The parts that depend on how events are fed

    def sources(self):
        """Returns additional members of routes.json."""
        return {}

    def live(self, moment, most):
        """Feeds events until `moment` seconds have passed or `most` events were acknowledged. The router keeps running."""
        raise NotImplementedError

    def hear_out(self):
        """Notes the acknowledgements that the router gave before it was killed. They count."""
        raise NotImplementedError

    def feed_the_rest(self):
        """Sends the events that were not acknowledged and some more until all are acknowledged, and then lets the router end."""
        raise NotImplementedError

    def acknowledged(self):
        raise NotImplementedError

    def pick_lanes(self):
        kinds = self.chance.sample(KINDS, self.chance.randint(1, len(KINDS)))
        if not set(kinds) & {"process", "power", "exec"}:
            kinds.append("process")
        return kinds

    def write_configuration(self):
        os.makedirs(f"{self.folder}/out")
        with open(f"{self.folder}/provider.py", "w") as file:
            file.write(EXEC)
        providers = {}
        for kind in self.lanes:
            queue = {"memory": self.chance.choice(["20KB", "200KB", "4MB"])}
            if kind != "memory":
                queue["disk"] = "1GB"
            if kind == "spill":
                queue["full"] = "spill"
            if kind == "power":
                queue["durability"] = "power"
            batch = {"events": self.chance.choice([1, 7, 500]), "bytes": "20KB", "wait": self.chance.choice(["1ms", "20ms"])}
            if self.planted:
                # No batch leaves before the router ends, so that the spools always contain rows to delete.
                queue["memory"], batch = "4MB", {"events": 10_000, "bytes": "1MB", "wait": "1h"}
            delivery = {"queue": queue, "batch": batch, "retry": {"first": "1ms", "most": "5ms"}}
            path = self.folder + "/out/${env:RUN}-" + kind
            if kind == "exec":
                settings = {"plugin": "exec", "command": [sys.executable, f"{self.folder}/provider.py", path]}
            else:
                settings = {"plugin": "file", "path": path}
            providers[kind] = {**settings, "delivery": delivery}
        routes = [{"to": self.lanes}]
        configuration = {"providers": providers, "routes": routes, **self.sources()}
        if self.is_encrypted:
            configuration |= {"keys": {"disk": "0123456789abcdef0123456789abcdef"}, "state": {"encrypt": "disk"}}
        with open(f"{self.folder}/routes.json", "w") as file:
            json.dump(configuration, file, indent=1)

    # One run of the router

    def start(self, arguments=(), **options):
        self.run_number += 1
        with open(f"{self.folder}/errors-{self.run_number}", "wb") as errors:
            self.process = subprocess.Popen(
                [self.router, "run", "-c", f"{self.folder}/routes.json", "--state", f"{self.folder}/state", "--stats", "json",
                 "--workers", str(self.chance.randint(1, 3)), *arguments],
                stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, "RUN": f"{self.run_number:05}"}, **options)

    def event(self, number):
        # The same number always gives the same event.
        pad = "x" * (40_000 if number % 500 == 0 else (10, 10, 300, 300, 2000)[number * 7919 % 5])
        return json.dumps({"n": number, "messageId": f"m-{number}", "type": "track", "event": "counted", "pad": pad}).encode() + b"\n"

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(0.05 * self.chance.random())

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.hear_out()
        self.killed.add(self.run_number)

    def errors(self):
        with open(f"{self.folder}/errors-{self.run_number}", errors="replace") as file:
            return "its messages: " + file.read()[-2000:]

    # The story

    def tell(self):
        try:
            for _ in range(self.kills):
                self.play_planted() if self.planted else self.play()
            self.finish()
        finally:
            self.process.kill()
            self.process.wait()
        self.judge()

    def play(self):
        """Plays one scene, which ends with a kill."""
        scene = self.chance.random()
        if scene < 0.6:
            self.live(self.chance.choice([0.01, 0.05, 0.2]) * self.chance.random(), 5000)
        elif scene < 0.85:  # a kill while the router reads what an earlier run left
            self.live(0.05 * self.chance.random(), 0)
        else:  # a kill while the router ends
            self.live(0.1 * self.chance.random(), 5000)
            self.terminate()
        if self.process.poll() is not None and self.process.returncode not in (0, 69, -signal.SIGTERM):
            raise Failed(f"run {self.run_number} ended with {self.process.returncode}; {self.errors()}")
        self.kill()

    def play_planted(self):
        """Plays one scene with the planted bug: it deletes the rows of the spools."""
        self.live(PATIENCE, 100)
        self.kill()
        for path in glob.glob(f"{self.folder}/state/spool-*.sqlite"):
            with contextlib.closing(sqlite3.connect(path)) as file, file:
                file.execute("DELETE FROM batches")

    def finish(self):
        """The last run delivers what earlier runs left and some more events, and ends without a kill."""
        try:
            self.feed_the_rest()
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed(f"the last run did not end; {self.errors()}")
        # A router whose spools lost rows reports it and ends with 69. So does a run whose program rejected events.
        if code != (69 if "exec" in self.lanes or self.planted else 0) and code != 0:
            raise Failed(f"the last run ended with {code}; {self.errors()}")

    def judge(self):
        for kind in self.lanes:
            self.judge_lane(kind)

    def judge_lane(self, kind):
        copies = {}  # for each number, the runs that delivered it, and its bytes
        for run in range(1, self.run_number + 1):
            path = f"{self.folder}/out/{run:05}-{kind}"
            if not os.path.exists(path):
                continue
            with open(path, "rb") as file:
                lines = file.read().split(b"\n")
            # A line that a kill cut off is not a delivery. The event is sent again.
            if lines.pop() and run not in self.killed:
                raise Failed(f"{kind}: run {run} left a torn line")
            before = 0
            for line in lines:
                event = json.loads(line)
                number = event["n"]
                if event["messageId"] != f"m-{number}":
                    raise Failed(f"{kind}: event {number} arrived with the messageId {event['messageId']}")
                runs, bytes = copies.setdefault(number, ([], line))
                if bytes != line:
                    raise Failed(f"{kind}: event {number} arrived in two forms")
                if self.is_ordered and kind in ("process", "power") and not runs and number < before:
                    raise Failed(f"{kind}: run {run} delivered event {number} after {before}")
                if not runs:
                    before = number
                runs.append(run)
        for number, (runs, _) in copies.items():
            self.judge_repeats(kind, number, runs)
        if kind in ("memory", "spill"):
            return
        unlucky = (lambda n: n % 97 == 13) if kind == "exec" else (lambda n: False)
        lost = [n for n in self.acknowledged() if n not in copies and not unlucky(n)]
        if lost:
            raise Failed(f"{kind}: {len(lost)} acknowledged events are lost, the first is {lost[0]}, sent in {self.sent_in.get(lost[0])}")

    def judge_repeats(self, kind, number, runs):
        """Checks the repeated deliveries of an event. Each sending may have stored one copy, and a run delivers each stored copy at most once."""
        sent = self.sent_in[number]
        for run in set(runs):
            stored = sum(1 for sending in sent if sending <= run)
            if runs.count(run) > stored:
                raise Failed(f"{kind}: event {number} was delivered in runs {runs}, more than {stored} times in {run}; sent in {sent}")
