"""A folder in the place of a server, for the module `file`: what was written there is what was taken."""

import os
import signal
import time


class Written:
    strange = None

    def __init__(self, folder, events):
        self.folder, self.events = folder, events
        self.address = f"{folder}/events.ndjson"
        self.limit = None

    def close(self):
        pass

    def settle(self, patience):
        return True

    def wait_for(self, count, patience):
        stop = time.monotonic() + patience
        while self.lines() < count:
            if time.monotonic() > stop:
                return False
            time.sleep(0.005)
        return True

    def block(self, process):
        """Puts a file in the place of the folder, and lets the router open its files again. What it writes until then counts too."""
        os.rename(self.folder, self.folder + "-before")
        self.address = f"{self.folder}-before/events.ndjson"
        with open(self.folder, "w"):
            pass
        process.send_signal(signal.SIGHUP)

    def lines(self):
        try:
            with open(self.address, "rb") as file:
                return file.read().count(b"\n")
        except FileNotFoundError:
            return 0

    @property
    def taken(self):
        """For each number, its lines. A line that is none of the events is strange. A kill can tear the last one, which is no delivery."""
        taken = {}
        numbers = {self.events.line(number): number for number in range(1, len(self.events) + 1)}
        try:
            with open(self.address, "rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    if line not in numbers:
                        self.strange = f"the file has a line that is no event: {line[:300]}"
                        break
                    taken.setdefault(numbers[line], []).append(line)
        except FileNotFoundError:
            pass
        return taken

    @property
    def count(self):
        return self.lines()

    def is_torn(self):
        with open(self.address, "rb") as file:
            return not file.read().endswith(b"\n")
