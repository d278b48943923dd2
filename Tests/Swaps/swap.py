"""One swap: a queue on disk is filled under one module, another one takes the provider's place, and every event has to arrive.

1. The router runs with the old module. The old one takes a part of the events and then refuses all others in one of several ways: it is
   busy, asks to be left alone for an hour, does not know the key, or does not answer. All events are acknowledged, so they are on disk.
2. routes.json names the new module. Either the running router reloads it, or the router is killed with SIGKILL and started again.
3. While the new one takes events, the router is killed with SIGKILL. The next run delivers the rest and ends.

After each kill the state folder says how many events wait. From that follows how many events the old one and the new one had taken, and the
router had not yet recorded: only so many may come twice.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time

from events import Events, kind
from modules import MODULES
from server import REFUSALS, Server
from written import Written

PATIENCE = 120  # seconds until what should have happened counts as never happening
BATCH, IN_FLIGHT = 100, 8
PLANTS = ("loss", "repeat", "shape")


class Failed(Exception):
    pass


class Swap:
    def __init__(self, router, old, new, seed, count, planted=None):
        self.router, self.seed, self.planted = router, seed, planted
        self.old_module, self.new_module = MODULES[old], MODULES[new]
        self.events = Events(count)
        chance = random.Random(f"{seed} {old} {new}")
        self.part = count // 2 if planted else chance.randint(count // 5, count // 2)  # what the old one takes
        self.next_part = chance.randint(1, (count - self.part) * 3 // 4)  # what the new one takes before the kill
        self.is_reload = chance.random() < 0.5 and not planted
        self.refusal = chance.choice(list(REFUSALS))
        self.queue = {"disk": "1GB", "memory": chance.choice(["400KB", "4MB"]), "durability": chance.choice(["process", "power"])}
        self.folder = tempfile.mkdtemp(prefix="switchyard-swap-")
        self.state = f"{self.folder}/state"
        self.run_number = 0
        self.process = None

    def __str__(self):
        way = "a reload" if self.is_reload else "a kill and a restart"
        return f"{self.old_module.name} to {self.new_module.name}, by {way}, the old one {self.refusal}"

    def tell(self):
        self.old, self.new = self.target(self.old_module, "old"), self.target(self.new_module, "new")
        try:
            self.fill()
            unrecorded = self.swap()
            repeats = self.interrupt()
            self.finish()
            self.judge(unrecorded, repeats)
        finally:
            if self.process:
                self.process.kill()
                self.process.wait()
            self.old.close()
            self.new.close()

    # The parts of the story

    def fill(self):
        """The old one takes its part of the events, and that is recorded. The others are stored."""
        self.configure(self.old_module, self.old)
        self.start()
        if self.planted == "repeat":
            # The state folder as it is before anything is taken is put back at the swap.
            self.old.limit = 0
            self.feed(1, len(self.events))
            self.kill(self.old)
            self.old.refused = 0
            shutil.copytree(self.state, f"{self.folder}/before", ignore=shutil.ignore_patterns("control.sock*"))
            self.start()
        self.old.limit, self.old.refusal = self.part, self.refusal
        if self.old_module is MODULES["file"]:
            self.feed(1, self.part)
            self.expect(self.old.wait_for(self.part, PATIENCE), "the old one does not get its part of the events")
            self.old.block(self.process)
            self.feed(self.part + 1, len(self.events))
        elif self.planted != "repeat":
            self.feed(1, len(self.events))
        if self.old_module is not MODULES["file"]:
            self.expect(self.old.wait(lambda: self.old.refused > 0, PATIENCE), "the old one is not asked for the rest")
        # Without an answer a batch stays open, and with it those of its requests that were answered.
        open_events = IN_FLIGHT * BATCH if self.refusal == "silent" else 0
        self.poll(
            lambda: self.waiting() <= len(self.events) - len(self.old.taken) + open_events, "the router does not record what the old one took")

    def swap(self):
        """Puts the new module in the place of the old one. Returns how many events the old one took that were not recorded."""
        if self.planted == "shape":
            # What the new one gets is in the shape of another module.
            self.new_module = MODULES["http"]
        if self.is_reload:
            self.configure(self.new_module, self.new)
            self.command("reload", "--state", self.state)
            return 0
        self.kill(self.old)
        if self.planted == "repeat":
            shutil.rmtree(self.state)
            os.rename(f"{self.folder}/before", self.state)
        if self.planted == "loss":
            with contextlib.closing(sqlite3.connect(f"{self.state}/spool-out.sqlite")) as file, file:
                file.execute("DELETE FROM batches WHERE rowid IN (SELECT rowid FROM batches ORDER BY rowid DESC LIMIT 2)")
        self.left = self.waiting()
        unrecorded = self.left - (len(self.events) - len(self.old.taken) - len(self.letters()))
        if unrecorded < 0:
            raise Failed(f"{-unrecorded} events are lost: {self.left} wait, and {len(self.old.taken)} of {len(self.events)} were taken")
        if unrecorded > 2 * BATCH * IN_FLIGHT:
            raise Failed(f"{unrecorded} events wait that were confirmed: more than can be in flight")
        self.configure(self.new_module, self.new)
        self.start()
        return unrecorded

    def interrupt(self):
        """Kills the router while the new one takes events. Returns how many it took that were not recorded."""
        wanted = self.next_part
        if isinstance(self.new, Written):
            self.expect(self.new.wait_for(wanted, PATIENCE), f"the new one does not get {wanted} events")
        else:
            self.expect(self.new.wait(lambda: self.new.count >= wanted, PATIENCE), f"the new one does not get {wanted} events")
        self.kill(self.new)
        settled = len(self.events) - self.waiting()
        # An event that the old one took, and that the router had not recorded, is settled when the new one has taken it too.
        arrived = set(self.old.taken) | set(self.new.taken) | set(self.letters())
        unrecorded = len(arrived) - settled
        if unrecorded < 0:
            raise Failed(f"{-unrecorded} events are lost after the kill: {settled} count as settled, and {len(arrived)} arrived")
        return unrecorded

    def finish(self):
        """The last run delivers the rest and ends by itself."""
        self.start(stdin=subprocess.DEVNULL)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed(f"the last run does not end; {self.said()}")
        # Rejected events end a run with 69.
        if code not in (0, 69):
            raise Failed(f"the last run ended with {code}; {self.said()}")
        if left := self.waiting():
            raise Failed(f"{left} events still wait after the last run; {self.said()}")

    def judge(self, unrecorded, repeats):
        taken, confirmed, letters = self.new.taken, self.old.taken, self.letters()
        for target, module in ((self.old, self.old_module), (self.new, self.new_module)):
            if target.strange:
                raise Failed(f"{module.name} got a request in a wrong shape: {target.strange}")
        if isinstance(self.new, Written) and self.new.is_torn():
            raise Failed("the last run left a torn line")
        lost = [n for n in range(1, len(self.events) + 1) if n not in taken and n not in confirmed and n not in letters]
        if lost:
            raise Failed(f"{len(lost)} events are lost, the first is {lost[0]}; {self.said()}")
        for number, letter in letters.items():
            if kind(number) not in (*self.old_module.refuses, *self.new_module.refuses):
                raise Failed(f"event {number} is a dead letter, and both modules take it: {self.reason(number)}")
            if letter != self.events[number]:
                raise Failed(f"the dead letter of event {number} is not the event as the route made it: {json.dumps(letter)}")
        again = sorted(set(taken) & set(confirmed))
        if len(again) > unrecorded + repeats:
            raise Failed(f"{len(again)} events that the old one had confirmed were sent to the new one, the first is {again[0]}; "
                         f"{unrecorded} were not recorded before the kill")
        twice = {number: wires for number, wires in taken.items() if len(wires) > 1}
        if (extra := sum(len(wires) - 1 for wires in twice.values())) > repeats:
            raise Failed(f"the new one got {extra} events again, the first is {min(twice)}; {repeats} were not recorded before the kill")
        for number, wires in twice.items():
            if any(wire != wires[0] for wire in wires):
                raise Failed(f"event {number} came in two forms: {wires}")

    # The router

    def target(self, module, name):
        if module is MODULES["file"]:
            os.makedirs(f"{self.folder}/{name}")
            return Written(f"{self.folder}/{name}", self.events)
        return Server(module(), self.events)

    def configure(self, module, target):
        provider = {"plugin": module.name, **module().settings(target.address), "delivery": {
            "queue": self.queue, "batch": {"events": BATCH, "bytes": "400KB", "wait": "10ms"}, "retry": {"first": "5ms", "most": "50ms"}}}
        if module is not MODULES["file"]:
            provider["in_flight"] = IN_FLIGHT
        with open(f"{self.folder}/routes.json.new", "w") as file:
            json.dump({"providers": {"out": provider}, "routes": [{"to": ["out"]}]}, file, indent=1)
        os.rename(f"{self.folder}/routes.json.new", f"{self.folder}/routes.json")

    def start(self, stdin=subprocess.PIPE):
        self.run_number += 1
        self.fed, self.acked = 0, 0
        acks, told = os.pipe()
        with open(f"{self.folder}/errors-{self.run_number}", "wb") as errors:
            self.process = subprocess.Popen(
                [self.router, "run", "-c", f"{self.folder}/routes.json", "--state", self.state, "--stats", "none", "--drain",
                 f"{PATIENCE}s", "--acks", str(told)],
                stdin=stdin, stdout=subprocess.DEVNULL, stderr=errors, pass_fds=[told])
        os.close(told)
        threading.Thread(target=self.hear, args=(acks,), daemon=True).start()

    def hear(self, acks):
        with open(acks, "rb", buffering=0) as stream:
            rest = b""
            while more := stream.read(1 << 16):
                *lines, rest = (rest + more).split(b"\n")
                if lines:
                    self.acked = int(lines[-1])

    def feed(self, first, last):
        """Sends events and waits until they are acknowledged."""
        self.fed += last - first + 1
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(b"".join(self.events.line(number) for number in range(first, last + 1)))
            self.process.stdin.flush()
        self.poll(lambda: self.acked == self.fed, "the router does not store the events")

    def kill(self, target):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.expect(target.settle(PATIENCE), "a connection of the killed router does not end")

    def poll(self, is_so, complaint):
        stop = time.monotonic() + PATIENCE
        while not is_so():
            if time.monotonic() > stop or self.process.poll() is not None:
                raise Failed(f"{complaint}; {self.said()}")
            time.sleep(0.01)

    def expect(self, is_so, complaint):
        if not is_so:
            strange = self.old.strange or self.new.strange
            raise Failed((f"a request is in a wrong shape: {strange}" if strange else complaint) + f"; {self.said()}")

    def command(self, *words):
        done = subprocess.run([self.router, *words], capture_output=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise Failed(f"switchyard {' '.join(words)} ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def waiting(self):
        return sum(spool["events"] for spool in json.loads(self.command("spool", "--state", self.state, "--json"))["spools"])

    def letters(self):
        lines = self.command("dead-letters", "--state", self.state, "--events").splitlines()
        return {letter["properties"]["n"]: letter for letter in map(json.loads, lines)}

    def reason(self, number):
        lines = self.command("dead-letters", "--state", self.state, "--json").decode().splitlines()
        return next((line for line in lines if f'"n":{number},' in line or f'\\"n\\":{number},' in line), "it is there no more")[:500]

    def said(self):
        with open(f"{self.folder}/errors-{self.run_number}", errors="replace") as file:
            return "its messages: " + file.read()[-2000:]
