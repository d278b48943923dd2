"""Runs programs and measures their time and memory. It keeps no large data, because a child's memory counts from the fork."""

import contextlib
import os
import re
import shlex
import signal
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field

PATIENCE = 300  # the seconds after which a program counts as hung


class Failure(Exception):
    """A program did not do its work. The text names the program and the fault."""


@dataclass
class Contender:
    """A program, its input, and the time of each round."""

    name: str
    command: list
    input: str
    seconds: list = field(default_factory=list)
    peak_kb: int = 0
    cpu_seconds: list = field(default_factory=list)
    from_first_byte: bool = False

    @property
    def bytes(self):
        return os.path.getsize(self.input)

    def rates(self):
        """Returns the megabytes of input per second for each round."""
        return [self.bytes / s / 1e6 for s in self.seconds]

    def rate(self):
        return statistics.median(self.rates())

    def round(self):
        result = run(self.command, self.input, from_first_byte=self.from_first_byte)
        self.seconds.append(result.seconds)
        self.cpu_seconds.append(result.cpu_seconds)
        self.peak_kb = max(self.peak_kb, result.peak_kb)


@dataclass
class Result:
    seconds: float
    peak_kb: int
    cpu_seconds: float


def spawn(command, stdin, stdout, stderr):
    """Starts a program with the given descriptors as its standard streams, and returns its process id."""
    actions = [(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate((stdin, stdout, stderr))]
    try:
        return os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}")


@contextlib.contextmanager
def patience(pid):
    """Kills the program if it hangs, so that the code that waits for it continues."""
    timer = threading.Timer(PATIENCE, os.kill, (pid, signal.SIGKILL))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def run(command, input, output=os.devnull, from_first_byte=False):
    """Runs a program from file to file. Its peak memory is at least that of this harness, because the kernel counts from the fork.
    With `from_first_byte` the start is not measured: the time runs from the moment at which the program has begun to read."""
    with open(input, "rb") as stdin, open(output, "wb") as stdout, tempfile.TemporaryFile() as stderr:
        start = time.perf_counter()
        pid = spawn(command, stdin.fileno(), stdout.fileno(), stderr.fileno())
        with patience(pid):
            # The program shares the position in the file.
            while from_first_byte and os.lseek(stdin.fileno(), 0, os.SEEK_CUR) == 0:
                if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    break
                time.sleep(0.0002)
                start = time.perf_counter()
            _, status, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - start
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            stderr.seek(0)
            words = stderr.read().decode(errors="replace").strip().splitlines()[-5:]
            raise Failure("\n    ".join([f"exit {code}: {shlex.join(command)} < {input}"] + words))
        return Result(seconds, usage.ru_maxrss, usage.ru_utime + usage.ru_stime)


def interleave(contenders, rounds, progress):
    """Runs the contenders in turn, A B C, A B C, so that disturbances affect all. The first round warms the caches and does not count."""
    for number in range(rounds + 1):
        for contender in contenders:
            progress(f"round {number} of {rounds}: {contender.name}" if number else f"warming up: {contender.name}")
            contender.round()
            if number == 0 and rounds > 0:
                contender.seconds.clear()
                contender.cpu_seconds.clear()
    progress("")


def ratio(over, under):
    """Returns the median of the ratios of the rounds. Both sides of each ratio were measured within seconds of each other."""
    return statistics.median(a / b for a, b in zip(over.rates(), under.rates()))


def first_output(command, input, times):
    """Returns the median time, in milliseconds, from the start to the first byte on standard output."""
    taken = []
    for _ in range(times):
        reader, writer = os.pipe()
        with open(input, "rb") as stdin, open(os.devnull, "wb") as stderr:
            start = time.perf_counter()
            pid = spawn(command, stdin.fileno(), writer, stderr.fileno())
            os.close(writer)
            with patience(pid):
                first = os.read(reader, 1)
                taken.append(1000 * (time.perf_counter() - start))
                while os.read(reader, 1 << 16):
                    pass
                os.close(reader)
                os.waitpid(pid, 0)
        if not first:
            raise Failure(f"no output: {shlex.join(command)} < {input}")
    return statistics.median(taken)


def ready(command, times):
    """Returns the median time, in milliseconds, from the start of a router to its message that it listens."""
    taken = []
    for _ in range(times):
        reader, writer = os.pipe()
        with open(os.devnull, "r+b") as null:
            start = time.perf_counter()
            pid = spawn(command, null.fileno(), null.fileno(), writer)
            os.close(writer)
            said = b""
            with patience(pid):
                while b"listening at" not in said and (more := os.read(reader, 4096)):
                    said += more
                taken.append(1000 * (time.perf_counter() - start))
                os.kill(pid, signal.SIGTERM)
                os.close(reader)
                os.waitpid(pid, 0)
        if b"listening at" not in said:
            raise Failure(f"{shlex.join(command)}: {said.decode(errors='replace').strip()}")
    return statistics.median(taken)


def idle_kb(command, is_module):
    """Returns the resident memory of a program that waits for input, with and without the mappings of its modules."""
    reader, writer = os.pipe()
    with open(os.devnull, "wb") as null:
        pid = spawn(command, reader, null.fileno(), null.fileno())
    os.close(reader)
    try:
        seen = []
        while len(seen) < 200 and (len(seen) < 4 or len(set(seen[-4:])) > 1):
            time.sleep(0.05)
            seen.append(mappings_kb(pid, is_module))
        return seen[-1]
    except FileNotFoundError:
        raise Failure(f"ended at once: {shlex.join(command)}")
    finally:
        os.close(writer)
        # A router that only listens does not end with its input.
        os.kill(pid, signal.SIGTERM)
        with patience(pid):
            os.waitpid(pid, 0)


def mappings_kb(pid, is_module):
    total = without = 0
    path = ""
    with open(f"/proc/{pid}/smaps") as smaps:
        for line in smaps:
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                path = line.split(maxsplit=5)[5].strip() if len(line.split(maxsplit=5)) == 6 else ""
            elif line.startswith("Rss:"):
                kb = int(line.split()[1])
                total += kb
                without += 0 if is_module(path) else kb
    if total == 0:
        raise FileNotFoundError(pid)
    return total, without


def instructions_per_byte(command, small, large):
    """Returns the instructions for each further byte of input, counted by valgrind. The start is in both counts and cancels out."""
    counts = []
    for input in (small, large):
        with tempfile.NamedTemporaryFile() as log:
            run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={log.name}"] + command, input)
            found = re.search(r"I\s+refs:\s+([\d,]+)", open(log.name).read())
            if not found:
                raise Failure(f"valgrind counted nothing: {shlex.join(command)}")
            counts.append(int(found.group(1).replace(",", "")))
    return (counts[1] - counts[0]) / (os.path.getsize(large) - os.path.getsize(small))


def instructions_share(command, symbol, without, small, large):
    """Returns the share of a function in the instructions for further input, with all its callees except one. The start cancels out."""
    counts = []
    for input in (small, large):
        with tempfile.NamedTemporaryFile() as profile, tempfile.NamedTemporaryFile() as table:
            run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile.name}"] + command, input)
            run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", profile.name], os.devnull, table.name)
            lines = open(table.name).read().splitlines()
        wanted = ["PROGRAM TOTALS", symbol, without]
        found = [[int(line.split()[0].replace(",", "")) for line in lines if each in line] for each in wanted]
        if any(len(each) != 1 for each in found):
            raise Failure(f"callgrind did not find each of {wanted} once: {shlex.join(command)}")
        counts.append([each[0] for each in found])
    whole, part, less = (large - small for small, large in zip(*counts))
    return (part - less) / whole
