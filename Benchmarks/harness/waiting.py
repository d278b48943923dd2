"""Measures the cost of a listening router while no client posts: memory, wake-ups, and idle connections."""

import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time

from harness.measure import Failure

STRACE = shutil.which("strace")
SPARE = 200  # the descriptors that the harness keeps for itself


def cases(report, start, connections, seconds, progress):
    progress("listening: no client posts")
    with start() as (port, process):
        report.add("listening, idle, resident", settled(process), "MiB", under=20)
        if STRACE:
            report.add("listening, idle, system calls a minute", 60 / seconds * system_calls(process, seconds), under=1)
        else:
            report.note("strace is not installed: wake-ups of an idle listener were not counted")
        progress("listening: idle connections")
        held, memory = hold(port, process, connections)
        report.add("listening, idle connections, resident", memory, "MiB", under=150)
        report.note(f"{held} idle connections were held" + ("" if held == connections else f", not {connections}: see ulimit -n"))
    progress("")


def memory(process, name="VmRSS"):
    """Returns the memory of the process in MiB, now or at its peak (VmHWM)."""
    with open(f"/proc/{process}/status") as file:
        return int(re.search(rf"{name}:\s+(\d+)", file.read()).group(1)) / 1024


def settled(process):
    """Waits until the resident memory is stable, and returns it in MiB."""
    seen = []
    while len(seen) < 200 and (len(seen) < 4 or len(set(seen[-4:])) > 1):
        time.sleep(0.05)
        seen.append(memory(process))
    return seen[-1]


def system_calls(process, seconds):
    """Counts the system calls of all threads, without the calls in which the threads waited when the count began."""
    with tempfile.NamedTemporaryFile("r") as log:
        done = subprocess.run(["timeout", "-s", "INT", str(seconds), STRACE, "-f", "-qq", "-p", str(process), "-o", log.name],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if done.returncode not in (0, 124, 130):
            raise Failure(f"strace: {done.stderr.decode(errors='replace').strip()}")
        lines = [line.split(maxsplit=1) for line in log.read().splitlines()]
    return begun_after_first(lines)


def begun_after_first(lines):
    """Counts the calls that threads began after the one in which each was found. A call can have two lines, or be cut off by the end."""
    begun = [thread for thread, call in lines if not call.startswith(("<...", "---", "+++"))]
    return len(begun) - len(set(begun))


def hold(port, process, connections):
    """Opens idle connections. Returns how many were open, and the router's resident memory in MiB."""
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held = []
    try:
        for _ in range(min(connections, most - SPARE)):
            held.append(socket.create_connection(("127.0.0.1", port)))
        resident = settled(process)
        return sum(map(is_open, held)), resident
    finally:
        for each in held:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
