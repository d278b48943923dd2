"""Drives the clients of Segment, RudderStack and OpenTelemetry by their public calls, and holds what they were told to send
against what came out of a router.

usage: drive.py URL OUTPUT.ndjson KEY [--plant]

URL is where the router listens, OUTPUT what its file provider writes, KEY the key that it wants. Each client runs once without a
fault and once behind each fault of proxy.py. Every event must come out, with what the client was given; an event that a fault
makes the client send twice may come out twice. With --plant the proxy loses a request, which must be found.
"""

import argparse
import json
import logging
import math
import sys
import time
import uuid

import rudderstack.analytics.client
import segment.analytics.client
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource

from proxy import Proxy

PATIENCE = 1.0
# What people put into events and JSON has no room for, or few readers have.
ODD = {"nan": math.nan, "infinity": -math.inf, "big": 2**70, "lone": "\ud800", "nul": "a\0b", "text": "ü€𝄞\n\"", "list": [1, None, {}]}


def written(value):
    """As it must come out."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: written(item) for key, item in value.items()}
    return value


def analytics(module, url, key, options):
    """Every call of a client of Segment's kind. Gives what is expected by messageId, and what the client complained of."""
    complaints = []
    client = module.Client(
        key, host=url, on_error=lambda error, _: complaints.append(str(error)), upload_size=4, upload_interval=0.05, timeout=PATIENCE,
        **options)
    expected = {}

    def call(name, want, /, **arguments):
        message = str(uuid.uuid4())
        getattr(client, name)(**arguments, message_id=message)
        expected[message] = {"type": name, "messageId": message, **want}

    call("identify", {"userId": "u"}, user_id="u", traits={"plan": "x"}, context={"ip": "1.2.3.4"})
    call("group", {"groupId": "g", "traits": {"n": 1}}, user_id="u", group_id="g", traits={"n": 1})
    call("alias", {"previousId": "p", "userId": "u"}, previous_id="p", user_id="u")
    for name in ["page", "screen"]:
        call(name, {"name": "n", "properties": {"a": 1}}, user_id="u", name="n", properties={"a": 1})
    for number in range(20):
        properties = {"number": number, **ODD}
        call("track", {"event": "e", "properties": written(properties)}, anonymous_id="a", event="e", properties=properties)
    client.shutdown()
    return expected, complaints


def otlp(url, key, compression):
    exporter = OTLPLogExporter(
        endpoint=url + "/v1/logs", headers={"Authorization": f"Bearer {key}"}, timeout=20, compression=compression)
    provider = LoggerProvider(resource=Resource({"service.name": "clients"}), shutdown_on_exit=False)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=50, max_export_batch_size=10))
    logger = provider.get_logger("scope", "1")
    expected = {}
    for number in range(25):
        message = str(uuid.uuid4())
        attributes = {"log.record.uid": message, "user.id": "u", "number": number, "big": 2**62, "nan": math.nan, "text": "ü€𝄞\n"}
        logger.emit(
            LogRecord(
                timestamp=time.time_ns(), severity_number=SeverityNumber.INFO, severity_text="INFO", body={"a": [1, "b"]},
                attributes=attributes, event_name="e"))
        expected[message] = {
            "type": "track", "event": "e", "messageId": message, "userId": "u", "properties": written(attributes),
            "body": {"a": [1, "b"]}}
    provider.shutdown()
    return expected, []


def came(path):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.endswith("\n")]
    events = {}
    for line in lines:
        event = json.loads(line)
        events.setdefault(event.get("messageId"), []).append(event)
    return events


def compare(expected, path, may_repeat, patience):
    """What is wrong with what came out, in words."""
    deadline = time.monotonic() + patience
    events = came(path)
    while not expected.keys() <= events.keys() and time.monotonic() < deadline:
        time.sleep(0.05)
        events = came(path)
    wrong = []
    for message, want in expected.items():
        copies = events.get(message, [])
        if not copies:
            wrong.append(f"lost: {want}")
        if len(copies) > 1 and not may_repeat:
            wrong.append(f"came {len(copies)} times: {want}")
        for event in copies:
            for member, value in want.items():
                if event.get(member) != value:
                    wrong.append(f"{member} is {event.get(member)!r}, not {value!r}")
            if "writeKey" in event or "receivedAt" not in event or "timestamp" not in event:
                wrong.append(f"a write key, or without its times: {event}")
    return wrong


CLIENTS = {
    "segment": lambda url, key: analytics(segment.analytics.client, url, key, {}),
    "segment gzip": lambda url, key: analytics(segment.analytics.client, url, key, {"gzip": True}),
    "rudderstack": lambda url, key: analytics(rudderstack.analytics.client, url, key, {}),
    "rudderstack gzip": lambda url, key: analytics(rudderstack.analytics.client, url, key, {"gzip": True}),
    "otlp": lambda url, key: otlp(url, key, Compression.NoCompression),
    "otlp gzip": lambda url, key: otlp(url, key, Compression.Gzip),
    "otlp deflate": lambda url, key: otlp(url, key, Compression.Deflate),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("output")
    parser.add_argument("key")
    parser.add_argument("--plant", action="store_true")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    wrong = 0

    def judge(name, fault, found):
        nonlocal wrong
        wrong += len(found)
        print(f"{name:17} {fault or 'no fault':11} {'as it should' if not found else f'{len(found)} wrong'}")
        for words in found[:5]:
            print(f"    {words}")

    for name, drive in CLIENTS.items():
        plain = " " not in name
        faults = [None, "429", "503", "reset", "reset-late", "slow"] if plain else [None]
        for fault in ["lost"] if arguments.plant else faults:
            # Only a client with a timeout of its own repeats what is slow.
            if fault == "slow" and name == "otlp":
                continue
            proxy = Proxy(arguments.url, fault, times=1 if fault == "slow" else 2, patience=PATIENCE)
            expected, complaints = drive(proxy.url, arguments.key)
            found = [f"the client says: {words}" for words in complaints]
            found += compare(expected, arguments.output, fault in ("reset-late", "slow"), 2 if arguments.plant else 20)
            if proxy.left:
                found.append(f"only {proxy.seen} requests: the fault did not strike")
            judge(name, fault, found)
            proxy.shutdown()
        if not arguments.plant and name in ("segment", "rudderstack"):
            _, complaints = drive(arguments.url, "a wrong key")
            judge(name, "wrong key", [] if any("401" in words for words in complaints) else [f"said: {complaints}"])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
