"""The modules between which a provider is swapped: their settings, the shape that each gives to an event, and what they refuse.

`read` returns the wire events of a request, each with its number, after it has compared them with the events: ids, names, times, the
person, and the properties. The shapes are those of docs/providers.
"""

import base64
import json
from urllib.parse import parse_qs, urlsplit

from events import kind, milliseconds, name_of, uuid_of


class Strange(Exception):
    """A request that is not in the shape of the module."""


def same(what, got, wanted):
    if got != wanted:
        raise Strange(f"{what} is {json.dumps(got)[:200]}, expected {json.dumps(wanted)[:200]}")


def basic(user):
    return "Basic " + base64.b64encode(user.encode()).decode()


class Module:
    refuses = ()  # the kinds of events that the module refuses
    path = "/"
    authorization = None
    own = {}

    def settings(self, address):
        return {"url": f"http://{address}", **self.own}

    def read(self, request, events):
        same("the method", request.method, "POST")
        same("the path", request.path, self.path)
        same("the header Authorization", request.headers.get("authorization"), self.authorization)
        wires = self.wires(request)
        for number, wire in wires:
            event = events[number]
            if kind(number) in self.refuses:
                raise Strange(f"event {number} came, and {self.name} has no place for it")
            self.compare(wire, event, number)
        return wires

    def wires(self, request):
        """Returns the numbers and the wire events of a request. It checks the envelope."""
        raise NotImplementedError

    def compare(self, wire, event, number):
        raise NotImplementedError

    def taken(self, request, count):
        return 200, b"{}"


class PostHog(Module):
    name, refuses, path, own = "posthog", ("nobody",), "/batch/", {"key": "phc_test"}

    def wires(self, request):
        body = json.loads(request.body)
        same("the key", body["api_key"], "phc_test")
        same("historical_migration", body["historical_migration"], False)
        return [(wire["properties"]["n"], wire) for wire in body["batch"]]

    def compare(self, wire, event, number):
        same("event", wire["event"], "$identify" if kind(number) == "identify" else name_of(number))
        same("uuid", wire["uuid"], uuid_of(event))
        same("distinct_id", wire["distinct_id"], event["userId"])
        same("timestamp", milliseconds(wire["timestamp"]), milliseconds(event["timestamp"]))
        same("properties", {key: wire["properties"].get(key) for key in event["properties"]}, event["properties"])
        same("$ip", wire["properties"]["$ip"], "203.0.113.7")

    def taken(self, request, count):
        return 200, b'{"status":1}'


class Mixpanel(Module):
    name, own, authorization = "mixpanel", {"token": "t0k3n"}, basic("t0k3n:")

    def read(self, request, events):
        if not request.path.startswith("/engage?"):
            return super().read(request, events)
        for change in json.loads(request.body):
            same("$set", change["$set"], {"plan": "team"})
        return []

    path = "/import?strict=1"

    def wires(self, request):
        return [(wire["properties"]["n"], wire) for wire in json.loads(request.body)]

    def compare(self, wire, event, number):
        properties = wire["properties"]
        same("event", wire["event"], "$identify" if kind(number) == "identify" else name_of(number))
        same("$insert_id", properties["$insert_id"], uuid_of(event))
        same("distinct_id", properties["distinct_id"], event.get("userId", ""))
        same("time", properties["time"], milliseconds(event["timestamp"]))
        same("properties", {key: properties.get(key) for key in event["properties"]}, event["properties"])
        same("ip", properties["ip"], "203.0.113.7")

    def taken(self, request, count):
        if request.path.startswith("/engage?"):
            return 200, b'{"status":1,"error":null}'
        return 200, b'{"code":200,"num_records_imported":%d,"status":"OK"}' % count


class Amplitude(Module):
    name, refuses, path, own = "amplitude", ("nobody",), "/2/httpapi", {"key": "am-test"}

    def wires(self, request):
        body = json.loads(request.body)
        same("the key", body["api_key"], "am-test")
        return [(wire["event_properties"]["n"], wire) for wire in body["events"]]

    def compare(self, wire, event, number):
        same("event_type", wire["event_type"], "$identify" if kind(number) == "identify" else name_of(number))
        same("insert_id", wire["insert_id"], event["messageId"])
        same("user_id", wire["user_id"], event["userId"])
        same("device_id", wire["device_id"], event["anonymousId"])
        same("time", wire["time"], milliseconds(event["timestamp"]))
        same("event_properties", {key: wire["event_properties"].get(key) for key in event["properties"]}, event["properties"])
        same("ip", wire["ip"], "203.0.113.7")

    def taken(self, request, count):
        return 200, b'{"code":200,"events_ingested":%d}' % count


class GA4(Module):
    name, refuses, own = "ga4", ("nobody", "long"), {"api_secret": "s3cr3t", "measurement_id": "G-1"}

    def read(self, request, events):
        target = urlsplit(request.path)
        same("the query", parse_qs(target.query), {"measurement_id": ["G-1"], "api_secret": ["s3cr3t"]})
        request.path = target.path
        return super().read(request, events)

    path = "/mp/collect"

    def wires(self, request):
        body = json.loads(request.body)
        if not 1 <= len(body["events"]) <= 25 or len(request.body) >= 130_000:
            raise Strange(f"a body has {len(body['events'])} events and {len(request.body)} bytes")
        for wire in body["events"]:
            wire |= {"client_id": body["client_id"], "user_id": body["user_id"]}
        return [(wire["params"]["n"], wire) for wire in body["events"]]

    def compare(self, wire, event, number):
        same("name", wire["name"], "identify" if kind(number) == "identify" else "Order_Completed")
        same("client_id", wire["client_id"], event["anonymousId"])
        same("user_id", wire["user_id"], event["userId"])
        same("timestamp_micros", wire["timestamp_micros"], milliseconds(event["timestamp"]) * 1000)
        same("params", {key: wire["params"].get(key) for key in event["properties"]}, event["properties"])

    def taken(self, request, count):
        return 204, b""


class Segment(Module):
    name, refuses, path, own, authorization = "segment", ("nobody",), "/v1/batch", {"write_key": "wk_test"}, basic("wk_test:")

    def wires(self, request):
        return [(wire["properties"]["n"], wire) for wire in json.loads(request.body)["batch"]]

    def compare(self, wire, event, number):
        same("the event", wire, event)

    def taken(self, request, count):
        return 200, b'{"success":true}'


class RudderStack(Segment):
    name = "rudderstack"

    def taken(self, request, count):
        return 200, b'"OK"'


class OTLP(Module):
    name, path, own = "otlp", "/v1/logs", {"encoding": "json"}

    def wires(self, request):
        same("the content type", request.headers.get("content-type"), "application/json")
        wires = []
        for resource in json.loads(request.body)["resourceLogs"]:
            for scope in resource["scopeLogs"]:
                for record in scope["logRecords"]:
                    record["attributes"] = {attribute["key"]: attribute["value"] for attribute in record["attributes"]}
                    wires.append((int(record["attributes"]["n"]["intValue"]), record))
        return wires

    def compare(self, wire, event, number):
        attributes = wire["attributes"]
        same("eventName", wire["eventName"], event.get("event", "identify"))
        same("timeUnixNano", int(wire["timeUnixNano"]), milliseconds(event["timestamp"]) * 1_000_000)
        same("log.record.uid", attributes["log.record.uid"]["stringValue"], event["messageId"])
        same("user.id", attributes.get("user.id"), {"stringValue": event["userId"]} if "userId" in event else None)
        same("severityNumber", wire["severityNumber"], 17)
        same("total", attributes["total"]["doubleValue"], 12.5)


class Sentry(Module):
    name, refuses, path = "sentry", ("identify",), "/api/42/envelope/"

    def settings(self, address):
        return {"url": f"http://{address}", "dsn": "https://k0123456789@sentry.invalid/42"}

    def wires(self, request):
        if "sentry_key=k0123456789" not in request.headers.get("x-sentry-auth", ""):
            raise Strange(f"the header X-Sentry-Auth has no key: {request.headers}")
        head, item, payload = request.body.rstrip(b"\n").split(b"\n")
        wire = json.loads(payload)
        same("the header of the item", json.loads(item), {"type": "event", "length": len(payload)})
        same("the event_id of the envelope", json.loads(head)["event_id"], wire["event_id"])
        return [(wire["extra"]["n"], wire)]

    def compare(self, wire, event, number):
        same("event_id", wire["event_id"], uuid_of(event).replace("-", ""))
        same("timestamp", milliseconds(wire["timestamp"]), milliseconds(event["timestamp"]))
        same("level", wire["level"], "error")
        same("exception", wire["exception"]["values"][0]["value"], "card declined")
        same("tags", wire["tags"]["event"], name_of(number))
        same("user", wire["user"].get("id"), event.get("userId"))
        same("total", wire["extra"]["total"], 12.5)


class HTTP(Module):
    name, path, own = "http", "/events", {"body": "array"}

    def settings(self, address):
        return {**super().settings(address), "url": f"http://{address}/events"}

    def wires(self, request):
        return [(wire["properties"]["n"], wire) for wire in json.loads(request.body)]

    def compare(self, wire, event, number):
        same("the event", wire, event)


class File(Module):
    """The only module without a server: it writes what it takes into a file."""

    name = "file"

    def settings(self, address):
        return {"path": address}


MODULES = {module.name: module for module in (PostHog, Mixpanel, Amplitude, GA4, Segment, RudderStack, OTLP, Sentry, File, HTTP)}
