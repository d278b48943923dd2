"""Lets a router read a stream while the router and the servers are killed at random moments, and compares a file with the stream.

Events are published while a router with the source `nats` and a provider `file` reads them. The router or a server is killed with SIGKILL at a
random moment, and started again. At the end every event that the stream has is in the file at least once, with its id, and the consumer has
nothing left: nothing to give out, and nothing that is not acknowledged.
"""

import json
import os
import random
import subprocess
import time

from client import Gone
from servers import Servers


def check_contract(router, folder, make_stream):
    """Holds the contract of sources against a stream of a real server. Returns the faults."""
    servers = Servers(folder, 1)
    try:
        make_stream(servers)
        publisher = Publisher(servers)
        publisher.publish(20_000)
        publisher.store()
        path = os.path.join(folder, "cases.json")
        settings = {"servers": f"nats://127.0.0.1:{servers.ports[0]}", "stream": "EVENTS", "consumer": "contract"}
        with open(path, "w") as file:
            json.dump({"sources": [{"name": "a stream", "lines": 1000, "settings": settings}]}, file)
        programs = os.path.dirname(os.path.abspath(router))
        done = subprocess.run([f"{programs}/switchyard-contract", f"{programs}/libNATS.so", path], capture_output=True, text=True, timeout=300)
        faults = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        return faults if faults or done.returncode == 0 else [done.stdout + done.stderr]
    finally:
        servers.close()


class Reading:
    """A router that reads the stream EVENTS of the servers into a file."""

    def __init__(self, router, folder, servers):
        self.router, self.folder, self.process = os.path.abspath(router), folder, None
        with open(os.path.join(folder, "reading.json"), "w") as file:
            json.dump({
                "sources": {"in": {"plugin": "nats", "servers": [f"nats://127.0.0.1:{port}" for port in servers.ports], "stream": "EVENTS",
                                   "consumer": "router", "ack_wait": "2s", "timeout": {"connect": "2s", "total": "5s"}}},
                "providers": {"out": {"plugin": "file", "path": "out.ndjson"}}, "routes": [{"to": ["out"]}]}, file)

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen([self.router, "run", "--state", "state", "-c", "reading.json"], cwd=self.folder,
                                            stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(120)

    def numbers(self):
        """The numbers of the events in the file, with the times that each is there. A line that a kill has cut is left out."""
        found = {}
        try:
            with open(os.path.join(self.folder, "out.ndjson"), "rb") as file:
                for line in file:
                    try:
                        one = json.loads(line)
                    except ValueError:
                        continue
                    if one["messageId"] == f"m-{one['n']}":
                        found[one["n"]] = found.get(one["n"], 0) + 1
        except FileNotFoundError:
            pass
        return found


class Publisher:
    """Publishes numbered events without waiting for the stream. A server that is killed meanwhile may lose some of them."""

    def __init__(self, servers):
        self.servers, self.client, self.next = servers, None, 0

    def event(self, number):
        return {"event": "read", "messageId": f"m-{number}", "n": number, "text": "x" * (number % 300)}

    def store(self):
        """Publishes one event and waits until the stream has it, and so all before it that it will ever have."""
        while True:
            try:
                if "seq" in self.servers.client().request("events.a", self.event(self.next)):
                    break
            except (OSError, Gone):
                pass
        self.next += 1

    def publish(self, count):
        # A cluster has to choose a leader after a kill. Before, it stores nothing.
        self.store()
        for number in range(self.next, self.next + count - 1):
            text = json.dumps(self.event(number)).encode()
            try:
                if self.client is None:
                    self.client = self.servers.client()
                self.client.send(f"PUB events.a {len(text)}", text)
            except (OSError, Gone):
                self.client = None
        self.next += count - 1


def left(servers):
    """What the consumer has not given out, and what is not acknowledged. None if there is no consumer yet."""
    try:
        info = servers.client().ask("CONSUMER.INFO.EVENTS.router", {})
    except (OSError, Gone):
        return None
    return info["num_pending"], info["num_ack_pending"]


def cut(path):
    """Removes the fifth event from the file of a router, which must be found."""
    with open(path, "rb") as file:
        lines = file.readlines()
    with open(path, "wb") as file:
        file.writelines(lines[:4] + lines[5:])


def read(options, folder, count_of_servers, chance, make_stream):
    """Returns the kills, the faults, how many events the stream has, and how many of them came more than once."""
    servers = Servers(folder, count_of_servers)
    reading = Reading(options.router, folder, servers)
    try:
        make_stream(servers)
        publisher = Publisher(servers)
        reading.start()
        kills = 0
        rounds = max(1, options.kills)
        for kill in range(rounds):
            publisher.publish(options.events // rounds)
            time.sleep(chance.uniform(0, 0.3))
            if options.kills == 0:
                break
            if chance.random() < 0.5:
                reading.kill()
                time.sleep(chance.uniform(0, 0.2))
                reading.start()
            else:
                number = kill % count_of_servers
                servers.kill(number)
                time.sleep(chance.uniform(0, 0.3))
                servers.start(number)
                servers.client(number).close()
            kills += 1
        publisher.store()
        end = time.monotonic() + options.patience
        while left(servers) != (0, 0):
            if time.monotonic() > end:
                return kills, [f"the consumer has {left(servers)} messages left"], 0, 0
            time.sleep(0.2)
        faults = []
        status = reading.stop()
        if status != 0:
            faults.append(f"the router ended with {status}")
        if options.planted:
            cut(os.path.join(folder, "out.ndjson"))
        found = reading.numbers()
        known = [json.loads(data)["n"] for _, _, data in servers.client().messages("EVENTS")]
        lost = [number for number in known if number not in found]
        if lost:
            faults.append(f"{len(lost)} of {len(known)} events are not in the file, such as {lost[:5]}")
        return kills, faults, len(known), sum(1 for count in found.values() if count > 1)
    finally:
        if reading.process and reading.process.poll() is None:
            reading.kill()
        servers.close()
