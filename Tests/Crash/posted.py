"""Stories with events over HTTP: several clients post at the same time, and an answer 200 acknowledges the events.

An event whose request got no answer, or 429 or 503, is sent again, in this run or the next. The client and the other events of the request
are chosen at random. A router that is neither killed nor told to end must answer every request.
"""

import contextlib
import http.client
import os
import random
import signal
import subprocess
import threading
import time

from story import PATIENCE, Failed, Story

ANSWER = b"listening at 127.0.0.1:"


class Posted(Story):
    is_ordered = False

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.lock = threading.Lock()
        self.answered = set()
        self.open = []  # events that were sent and not answered with 200
        self.clients = []
        self.failure = None

    def sources(self):
        return {"sources": {"http": {"plugin": "http", "listen": "127.0.0.1:0"}}}

    def acknowledged(self):
        return sorted(self.answered)

    # The router's side

    def begin(self, end):
        """Starts a router, and clients that post up to the event `end` and leave no event open."""
        self.end, self.is_ending = end, False
        self.start(stdin=open(os.devnull, "rb"))
        if end is not None:
            self.port = self.wait_for_port()
            self.start_clients()

    def wait_for_port(self):
        stop = time.monotonic() + PATIENCE
        while time.monotonic() < stop and self.process.poll() is None:
            with open(f"{self.folder}/errors-{self.run_number}", "rb") as file:
                _, told, rest = file.read().partition(ANSWER)
            port, ended, _ = rest.partition(b"\n")
            if told and ended:
                return int(port)
            time.sleep(0.002)
        raise Failed(f"run {self.run_number} does not listen; {self.errors()}")

    def live(self, moment, most):
        self.begin(self.highest + most if most else None)
        stop = time.monotonic() + moment
        for client in self.clients:
            client.join(max(0, stop - time.monotonic()))
        if not self.clients:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(moment)
        self.is_ending = True

    def hear_out(self):
        self.join_clients()

    def feed_the_rest(self):
        self.begin(self.highest + 100)
        stop = time.monotonic() + PATIENCE
        self.join_clients()
        while self.open and time.monotonic() < stop:
            self.start_clients()
            self.join_clients()
        if self.open:
            raise Failed(f"the last run left {len(self.open)} events without 200 within {PATIENCE} s; {self.errors()}")
        self.is_ending = True
        self.process.send_signal(signal.SIGTERM)

    # The clients' side

    def start_clients(self):
        for _ in range(self.chance.randint(1, 6)):
            self.clients.append(threading.Thread(target=self.post_all, args=(random.Random(self.chance.random()),)))
            self.clients[-1].start()

    def join_clients(self):
        while self.clients:
            self.clients.pop().join()
        if self.failure:
            raise self.failure

    def post_all(self, chance):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            while numbers := self.take(chance.choice([1, 1, 1, 5, 20])):
                self.post(connection, numbers, chance)
        except Failed as failure:
            self.failure = failure
        except (OSError, http.client.HTTPException) as error:
            if not self.is_ending:
                self.failure = Failed(f"run {self.run_number} gave no answer: {error!r}; {self.errors()}")
        finally:
            connection.close()

    def take(self, count):
        """Returns the numbers of the next request. Open events come first."""
        with self.lock:
            numbers, self.open = self.open[:count], self.open[count:]
            while len(numbers) < count and self.highest < self.end:
                self.highest += 1
                numbers.append(self.highest)
            for number in numbers:
                self.sent_in.setdefault(number, []).append(self.run_number)
            return numbers

    def post(self, connection, numbers, chance):
        status = None
        try:
            connection.request("POST", "/v1/events", self.body(numbers, chance))
            response = connection.getresponse()
            status = response.status
            said = response.read()
        finally:
            with self.lock:
                if status == 200:
                    self.answered.update(numbers)
                else:
                    self.open += numbers
        if status == 200 and b'"accepted":%d,' % len(numbers) not in said:
            raise Failed(f"run {self.run_number} did not accept all of {numbers}: {said.decode()}")
        if status in (429, 503):
            time.sleep(0.005)
        elif status != 200:
            raise Failed(f"run {self.run_number} answered {status} to {numbers}: {said.decode()}")

    def body(self, numbers, chance):
        lines = [self.event(number) for number in numbers]
        return b"".join(lines) if chance.random() < 0.5 else b"[" + b",".join(lines) + b"]"
