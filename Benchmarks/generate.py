#!/usr/bin/env python3
"""Writes product events in the Segment format to standard output, one JSON object per line, 600 to 900 bytes each.

The same seed and count give the same bytes on every machine. The events, names, shops and ids are invented.

usage: Benchmarks/generate.py SEED COUNT
"""

import json
import random
import sys

# Each name and its weight. The item_* and search_* events are half of all events.
EVENTS = [
    ("item_viewed", 20), ("item_added", 10), ("item_removed", 4), ("item_shared", 2), ("search_performed", 10),
    ("search_cleared", 4), ("checkout_started", 8), ("checkout_completed", 5), ("error_shown", 5), ("error_retried", 2),
    ("session_started", 10), ("session_ended", 8), ("video_played", 7), ("level_completed", 5),
]
TYPES = [("track", 80), ("screen", 12), ("identify", 5), ("page", 3)]
# Each level with its granted purposes, and the weight. None means that the event carries no consent.
CONSENT = [
    (("none", []), 5), (("essential", ["operations"]), 10), (("standard", ["operations", "analytics"]), 50),
    (("detailed", ["operations", "analytics", "research"]), 30), (None, 5),
]
DEVICES = [
    ("Apple", "iPhone14,3", "ios", "17.5.1"), ("Google", "Pixel 8", "android", "14"), ("Samsung", "SM-S918B", "android", "14"),
    ("Xiaomi", "2201116SG", "android", "13"), ("Apple", "Mac15,6", "macos", "14.4"),
]
LOCALES = ["en-US", "de-DE", "fr-FR", "ja-JP", "pt-BR", "es-MX", "uk-UA", "zh-CN"]
TITLES = [
    "Running shoes \u00bd size", "Caf\u00e9 cr\u00e8me", "\u6771\u4eac \u30bf\u30ef\u30fc mug", "27\" monitor", "C:\\Temp\\x",
    "plain white t-shirt", "Stra\u00dfe \U0001F697 toy", "line one\nline two", "tab\tbetween", "O'Reilly book", "coffee beans 1kg",
]
CATEGORIES = ["shoes", "kitchen", "souvenirs", "electronics", "toys", "books"]
SHORTEST, LONGEST = 600, 900


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.people = [(self.uuid(), f"user_{self.random.randrange(10**7)}") for _ in range(20_000)]
        self.time = 1_718_000_000_000

    def hex(self, digits):
        return "%0*x" % (digits, self.random.getrandbits(4 * digits))

    def uuid(self):
        h = self.hex(32)
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"

    def weighted(self, choices):
        return self.random.choices([c for c, _ in choices], [w for _, w in choices])[0]

    def properties(self):
        r = self.random
        makers = {
            "revenue": lambda: round(r.random() * 500, 2), "price": lambda: round(r.random() * 99, 2),
            "quantity": lambda: r.randrange(1, 20), "currency": lambda: r.choice(["USD", "EUR", "JPY", "BRL"]),
            "name": lambda: r.choice(TITLES), "category": lambda: r.choice(CATEGORIES),
            "sku": lambda: self.hex(10).upper(), "in_stock": lambda: r.random() < 0.8,
            "coupon": lambda: None if r.random() < 0.6 else self.hex(6), "position": lambda: r.randrange(50),
            "query": lambda: r.choice(TITLES) + " " + self.hex(4), "duration_ms": lambda: r.randrange(10**6),
            "ratio": lambda: r.random() / 1000, "catalog_id": lambda: r.getrandbits(60),
            "url": lambda: f"https://shop.example/p/{self.hex(8)}?ref={r.choice(CATEGORIES)}",
            "items": lambda: [
                {"sku": self.hex(6), "qty": r.randrange(1, 5), "price": round(r.random() * 50, 2)} for _ in range(r.randrange(1, 3))
            ],
            "tags": lambda: r.sample(CATEGORIES, 2), "screen": lambda: {"name": r.choice(CATEGORIES), "depth": r.randrange(9)},
        }
        return {name: makers[name]() for name in r.sample(list(makers), r.randrange(6, 11))}

    def timestamp(self):
        self.time += self.random.randrange(40)
        seconds, ms = divmod(self.time, 1000)
        days, second = divmod(seconds, 86_400)
        return "2024-06-%02dT%02d:%02d:%02d.%03dZ" % (
            10 + (days - 19_884) % 20, second // 3600, second // 60 % 60, second % 60, ms)

    def event(self):
        r = self.random
        maker, model, system, version = r.choice(DEVICES)
        anonymous, user = r.choice(self.people)
        context = {
            "app": {"name": r.choice(["Shop", "Shop Lite", "Reader"]), "version": f"{r.randrange(1, 6)}.{r.randrange(30)}.{r.randrange(9)}"},
            "device": {"manufacturer": maker, "model": model, "type": system, "id": self.uuid().upper()},
            "os": {"name": system, "version": version},
            "ip": ".".join(str(r.randrange(1, 255)) for _ in range(4)),
            "locale": r.choice(LOCALES),
        }
        consent = self.weighted(CONSENT)
        if consent:
            context["consent"] = {"level": consent[0], "purposes": consent[1]}
        if r.random() < 0.5:
            context["library"] = {"name": "analytics-swift", "version": "1.5.11"}
        return {
            "type": self.weighted(TYPES), "event": self.weighted(EVENTS), "messageId": self.uuid(), "anonymousId": anonymous,
            "userId": user if r.random() < 0.6 else None, "timestamp": self.timestamp(), "properties": self.properties(), "context": context,
        }

    def line(self, number):
        """Returns one event in a form that SDKs use: mostly compact UTF-8, some escaped, some with spaces."""
        while True:
            event = self.event()
            if number % 10 == 7:
                text = json.dumps(event, separators=(",", ":"))
            elif number % 10 == 8:
                text = json.dumps(event, ensure_ascii=False)
            else:
                text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
            line = text.encode() + b"\n"
            if SHORTEST <= len(line) <= LONGEST:
                return line


def main():
    if len(sys.argv) != 3 or not all(a.isdigit() for a in sys.argv[1:]):
        sys.exit(__doc__.strip())
    generator = Generator(int(sys.argv[1]))
    for number in range(int(sys.argv[2])):
        sys.stdout.buffer.write(generator.line(number))


if __name__ == "__main__":
    main()
