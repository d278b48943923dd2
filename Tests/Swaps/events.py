"""The events of a swap: numbered, and always the same for the same number. A few are of a kind that some module refuses."""

import datetime
import json
import uuid

# The namespace of the UUIDs that the modules derive from ids that are no UUIDs (docs/providers/posthog.md).
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "switchyard")
KINDS = {17: "long", 43: "nobody", 71: "identify"}
LONG = "Order Completed in a Shop whose Name Is Very Long Indeed"


def kind(number):
    """Returns `long` (a long name), `nobody` (no id of a person), `identify`, or `plain` for most numbers."""
    return KINDS.get(number % 100, "plain")


def name_of(number):
    return LONG if kind(number) == "long" else "Order Completed"


def uuid_of(event):
    """Returns the UUID that a module gives an event: its messageId, or one that is derived from it."""
    try:
        return str(uuid.UUID(event["messageId"]))
    except ValueError:
        return str(uuid.uuid5(NAMESPACE, event["messageId"]))


class Events:
    def __init__(self, count):
        # GA4 takes no event that is older than 72 hours.
        self.start = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) - datetime.timedelta(hours=3)
        self.all = [self.make(number) for number in range(1, count + 1)]
        self.lines = [json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in self.all]

    def __len__(self):
        return len(self.all)

    def __getitem__(self, number):
        if not 1 <= number <= len(self.all):
            raise IndexError(f"there is no event {number}")
        return self.all[number - 1]

    def line(self, number):
        return self.lines[number - 1]

    def make(self, number):
        # Few people, since GA4 puts the events of each into a request of its own.
        person = number // 50 % 20
        event = {
            "type": "track", "event": name_of(number),
            "messageId": str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))) if number % 2 else f"order-{number}",
            "userId": f"user-{person:04}", "anonymousId": f"{1000 + person}.5678",
            "timestamp": (self.start + datetime.timedelta(milliseconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "properties": {"n": number, "level": "error", "error_message": "card declined", "total": 12.5},
            "context": {"ip": "203.0.113.7"},
        }
        if kind(number) == "nobody":
            del event["userId"], event["anonymousId"]
        if kind(number) == "identify":
            del event["event"]
            event |= {"type": "identify", "traits": {"plan": "team"}}
        return event


def milliseconds(text):
    """Returns the time of a text, in milliseconds since 1970."""
    return round(datetime.datetime.fromisoformat(text).timestamp() * 1000)
