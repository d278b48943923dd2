"""Lets the clients of Segment, RudderStack and OpenTelemetry, with the patience that they have by themselves, send to a router whose vendor
hangs. Every request must be answered before its client gives up, and what the client sent must reach the vendor exactly once.

usage: overload.py ROUTER FOLDER [--plant]

ROUTER is the executable, and FOLDER an empty folder for its files. With --plant the vendor loses one event and counts another one twice,
which must be found.
"""

import argparse
import collections
import http.client
import http.server
import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
import uuid

import rudderstack.analytics.client
import segment.analytics.client
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

# How long the vendor hangs from its first request on. OpenTelemetry's exporter gives up 10 s after it began.
HANGS = 5.0
# The longest time until an answer: limits.answer_within (2 s), and what a busy machine adds.
ANSWERED = 5.0
RECORDS = 500
EVENTS = 250
SINGLE = 5


class Vendor(http.server.ThreadingHTTPServer):
    """Answers nothing until `HANGS` seconds after its first request, and counts the events by messageId."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, plant):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.recovers = None
        self.plant = plant
        self.events = collections.Counter()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def take(self, body):
        ids = [json.loads(line)["messageId"] for line in body.splitlines()]
        with self.lock:
            if self.plant and len(ids) > 1:
                ids[0] = ids[1]
                self.plant = False
            self.events.update(ids)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            now = time.monotonic()
            self.server.recovers = self.server.recovers or now + HANGS
            left = self.server.recovers - now
        if left > 0:
            time.sleep(left)
        self.server.take(body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        """Only what is wrong is told, at the end."""


def start(router, folder, vendor):
    """Starts a router whose queue has room for a few events. Returns its process and the port of its listener."""
    routes = {
        "sources": {"http": {"plugin": "http", "listen": "127.0.0.1:0"}},
        "providers": {"out": {
            "plugin": "http", "url": f"http://127.0.0.1:{vendor.server_address[1]}/", "in_flight": 1,
            "delivery": {"batch": {"events": 20, "wait": "1ms"}, "queue": {"memory": "20KB", "full": "block"}}}},
        "routes": [{"to": ["out"]}]}
    with open(f"{folder}/routes.json", "w", encoding="utf-8") as file:
        json.dump(routes, file)
    process = subprocess.Popen(
        [router, "run", "--state", "state", "--workers", "2"], cwd=folder, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        if found := re.search(r"listening at 127\.0\.0\.1:(\d+)", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, int(found[1])
    sys.exit("the router did not start")


def analytics(module, url, sent, wrong):
    client = module.Client("a key", host=url, on_error=lambda error, _: wrong.append(f"{module.__name__}: {error}"))
    for number in range(EVENTS):
        message = str(uuid.uuid4())
        client.track(anonymous_id="a", event="e", properties={"number": number, "text": "x" * 100}, message_id=message)
        sent.append(message)
    client.flush()
    return client.shutdown


def otlp(url, sent, _):
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint=url + "/v1/logs")))
    logger = provider.get_logger("scope")
    for number in range(RECORDS):
        message = str(uuid.uuid4())
        logger.emit(LogRecord(timestamp=time.time_ns(), body="x" * 100, attributes={"log.record.uid": message, "number": number}))
        sent.append(message)
    provider.force_flush()
    return provider.shutdown


def single(port, sent, wrong):
    """A client that posts one event at a time while the vendor hangs, and repeats what was answered with 429."""
    for _ in range(SINGLE):
        sent.append(message := str(uuid.uuid4()))
        status = 429
        while status == 429:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            began = time.monotonic()
            connection.request("POST", "/v1/events", json.dumps({"messageId": message}))
            reply = connection.getresponse()
            status = reply.status
            reply.read()
            connection.close()
            if (took := time.monotonic() - began) > ANSWERED:
                wrong.append(f"a request was answered after {took:.1f} s")
            if status == 429:
                time.sleep(int(reply.getheader("Retry-After")))
        if status != 200:
            wrong.append(f"a single event was answered with {status}")
    return lambda: None


def refused(folder):
    """Returns how many requests of each dialect were told to come again."""
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(f"{folder}/state/control.sock")
        control.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        text = b"".join(iter(lambda: control.recv(65536), b"")).decode()
    counts = collections.Counter()
    for dialect, count in re.findall(r'^switchyard_listener_requests_total\{.*dialect="(\w+)",status="[45]xx"\} (\d+)$', text, re.M):
        counts[dialect] += int(count)
    return counts


def judge(sent, vendor, wrong, patience):
    """Waits until everything has come, and adds what is wrong."""
    deadline = time.monotonic() + patience
    while len(vendor.events) < len(sent) and time.monotonic() < deadline:
        time.sleep(0.05)
    counts = [vendor.events[message] for message in sent]
    wrong += [f"{counts.count(0)} of {len(sent)} events were lost"] if 0 in counts else []
    wrong += [f"{sum(count > 1 for count in counts)} of {len(sent)} events came more than once"] if max(counts) > 1 else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("router")
    parser.add_argument("folder")
    parser.add_argument("--plant", action="store_true")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    vendor = Vendor(arguments.plant)
    process, port = start(os.path.abspath(arguments.router), arguments.folder, vendor)
    url = f"http://127.0.0.1:{port}"
    sent, wrong = [], []
    drives = [
        lambda: analytics(segment.analytics.client, url, sent, wrong), lambda: analytics(rudderstack.analytics.client, url, sent, wrong),
        lambda: otlp(url, sent, wrong), lambda: single(port, sent, wrong)]
    ends = []
    threads = [threading.Thread(target=lambda drive=drive: ends.append(drive())) for drive in drives]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    judge(sent, vendor, wrong, 2 if arguments.plant else 20)
    counts = refused(arguments.folder)
    for dialect in ["segment", "otlp"]:
        wrong += [] if counts[dialect] else [f"no request of {dialect} was refused: there was no overload"]
    for end in ends:
        end()
    process.terminate()
    if process.wait() != 0:
        wrong.append(f"the router ended with {process.returncode}")
    print(f"{len(sent)} events beside a vendor that hangs: {'each came once' if not wrong else ''}")
    for words in wrong:
        print(f"    {words}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
