"""Stories with events on standard input: --acks says which events are acknowledged, and the next run continues after them."""

import os
import selectors
import subprocess
import time

from story import PATIENCE, Failed, Story


class Piped(Story):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.last_acked = 0  # the greatest acknowledged number; all smaller numbers are acknowledged too

    def acknowledged(self):
        return range(1, self.last_acked + 1)

    def begin(self):
        self.acks, told = os.pipe()
        self.start(["--acks", str(told)], stdin=subprocess.PIPE, pass_fds=[told])
        os.close(told)
        os.set_blocking(self.acks, False)
        os.set_blocking(self.process.stdin.fileno(), False)
        self.first, self.heard = self.last_acked + 1, b""

    def live(self, moment, most):
        self.begin()
        self.feed(self.first + most, moment)

    def hear_out(self):
        while not self.hear():
            pass
        os.close(self.acks)
        self.process.stdin.close()

    def feed_the_rest(self):
        self.begin()
        if not self.feed(self.highest + 100, PATIENCE) or self.last_acked < self.highest:
            raise Failed(f"the last run acknowledged {self.last_acked} of {self.highest} within {PATIENCE} s; {self.errors()}")
        self.process.stdin.close()
        os.close(self.acks)

    def feed(self, end, moment):
        """Sends the events up to `end` and notes the acknowledgements meanwhile. Returns False if the router ended."""
        number, pending, stdin, acks = self.first, b"", self.process.stdin, self.acks
        stop = time.monotonic() + moment
        with selectors.DefaultSelector() as selector:
            selector.register(acks, selectors.EVENT_READ)
            selector.register(stdin, selectors.EVENT_WRITE)
            while True:
                left = stop - time.monotonic()
                if left <= 0:
                    return True
                for key, _ in selector.select(left):
                    if key.fileobj is stdin:
                        if not pending and number < end:
                            self.sent_in.setdefault(number, []).append(self.run_number)
                            pending = self.event(number)
                            self.highest = max(self.highest, number)
                            number += 1
                        if not pending:
                            selector.unregister(stdin)
                            continue
                        try:
                            pending = pending[os.write(stdin.fileno(), pending):]
                        except BlockingIOError:
                            pass
                        except BrokenPipeError:
                            return False
                    else:
                        if self.hear():
                            return False
                if number == end and not pending and self.last_acked >= end - 1:
                    return True

    def hear(self):
        """Reads and notes acknowledgements. Returns True at the end of the pipe."""
        try:
            more = os.read(self.acks, 1 << 16)
        except BlockingIOError:
            return False
        *lines, self.heard = (self.heard + more).split(b"\n")
        for line in lines:
            acked = self.first + int(line) - 1
            if acked < self.last_acked or acked > self.highest:
                raise Failed(f"acknowledges line {int(line)}, which is event {acked}; expected an event from {self.last_acked} to {self.highest}")
            self.last_acked = acked
        return not more
