"""Checks by their output that the compared programs did the same work."""

import json
import os
import shlex
import subprocess
import tempfile

from harness.measure import PATIENCE, Failure, run


def check_three_routes(command, routes, input):
    """Runs a configuration with files instead of its /dev/null outputs. Returns the bytes written per byte read. No output may be empty."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = redirect(command, routes, input, folder)
        empty = [name for name, path in outputs.items() if not os.path.exists(path) or os.path.getsize(path) == 0]
        if empty:
            raise Failure(f"{routes}: nothing was written to {', '.join(empty)}")
        return sum(map(os.path.getsize, outputs.values())) / os.path.getsize(input)


def filtered_by_switchyard(command, routes, input):
    with tempfile.TemporaryDirectory() as folder:
        (path,) = redirect(command, routes, input, folder).values()
        return filtered(path)


def filtered_by_peer(command, input):
    with tempfile.NamedTemporaryFile() as file:
        run(command, input, file.name)
        return filtered(file.name)


def filtered(path):
    """Returns the message ids in the output. Fails if an event still has its context.ip."""
    ids = []
    with open(path, "rb") as lines:
        for line in lines:
            event = json.loads(line)
            if "ip" in event["context"]:
                raise Failure(f"an event kept its context.ip: {event['messageId']}")
            ids.append(event["messageId"])
    return sorted(ids)


def admitted(command, input):
    """Returns the number of events that each route of a router admitted."""
    return [route["admitted"] for route in told(command + ["--stats", "json"], input)["routes"]]


def held(command, input):
    """Returns how often each condition was true, for a program that writes a list of booleans for each event."""
    with tempfile.NamedTemporaryFile() as file:
        run(command, input, file.name)
        return [sum(column) for column in zip(*map(json.loads, file))]


def told(command, input):
    """Runs a program and returns the JSON object that it writes to standard error."""
    with open(input, "rb") as stdin:
        done = subprocess.run(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    if done.returncode != 0:
        raise Failure(f"exit {done.returncode}: {shlex.join(command)} < {input}")
    return json.loads(done.stderr)


def redirect(command, routes, input, folder):
    """Runs `command` with a copy of `routes` that writes files into `folder`. Returns the path of each provider's file."""
    with open(routes) as file:
        plan = json.load(file)
    outputs = {}
    for name, provider in plan["providers"].items():
        outputs[name] = provider["path"] = os.path.join(folder, name + ".ndjson")
    copy = os.path.join(folder, "routes.json")
    with open(copy, "w") as file:
        json.dump(plan, file)
    run([copy if word == routes else word for word in command], input)
    return outputs
