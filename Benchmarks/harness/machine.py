"""Describes the conditions of a run: the machine, the versions of the programs, and the load at the start."""

import os
import platform
import re
import subprocess


def describe():
    cpu = first(r"model name\s*: (.*)", read("/proc/cpuinfo")) or platform.machine()
    memory = int(first(r"MemTotal:\s+(\d+)", read("/proc/meminfo")) or 0)
    system = first(r'PRETTY_NAME="(.*)"', read("/etc/os-release")) or platform.system()
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "memory": f"{memory / 1e6:.0f} GB",
        "system": system,
        "kernel": platform.release(),
    }


def versions(programs):
    """Returns the versions of the programs that run. `programs` maps a name to a command that prints its version."""
    found = {}
    for name, command in programs.items():
        words = output(command)
        number = first(r"(\d+\.\d+(?:\.\d+)?(?:-\d+-g[0-9a-f]+)?)", words)
        if number:
            found[name] = number
    return found


def load():
    return os.getloadavg()[0]


def linked(executable):
    """Returns every library that the program loads at its start, as ldd reports it."""
    return [line.split()[0] for line in output(["ldd", executable]).splitlines() if "=>" in line or line.strip().startswith("/")]


def output(command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    except OSError:
        return ""
    return done.stdout.decode(errors="replace")


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def first(pattern, text):
    found = re.search(pattern, text)
    return found.group(1).strip() if found else None
