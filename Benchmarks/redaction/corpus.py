"""Generates the texts of the redaction bench: texts with one planted find, and texts without any. The same seed gives the same texts.

The values come from faker, in 18 locales. National ids that faker does not make, and API keys, are made here by their published rules;
python-stdnum, which knows nothing of this project, confirms each national id.
"""

import base64
import importlib
import random
import string
import urllib.parse
from typing import NamedTuple

from faker import Faker

LOCALES = (
    "en_US en_GB de_DE fr_FR es_ES it_IT nl_NL pl_PL sv_SE pt_BR ja_JP ko_KR zh_CN en_IN fi_FI de_CH no_NO tr_TR".split()
)
KINDS = "email phone card iban ip mac national_id key url".split()

# The word with which people of a locale announce a telephone number.
PHONE_WORDS = dict(zip(LOCALES, (
    "phone tel. Telefon téléphone teléfono telefono telefoon telefon telefon telefone 電話 전화 电话 mobile puhelin Tel. telefon telefon"
).split()))

# The module of python-stdnum that confirms a national id of the locale, and the word that announces the id.
ID_RULES = {
    "en_US": ("us.ssn", "SSN"), "en_GB": (None, "NINO"), "de_DE": ("de.idnr", "Steuer-ID"), "fr_FR": ("fr.nir", "NIR"),
    "es_ES": ("es.dni", "DNI"), "it_IT": ("it.codicefiscale", "codice fiscale"), "nl_NL": ("nl.bsn", "BSN"),
    "pl_PL": ("pl.pesel", "PESEL"), "sv_SE": ("se.personnummer", "personnummer"), "pt_BR": ("br.cpf", "CPF"),
    "ja_JP": (None, "マイナンバー"), "ko_KR": ("kr.rrn", "주민등록번호"), "zh_CN": ("cn.ric", "身份证"), "en_IN": ("in_.aadhaar", "Aadhaar"),
    "fi_FI": ("fi.hetu", "henkilötunnus"), "de_CH": ("ch.ssn", "AHV"), "no_NO": ("no.fodselsnummer", "fødselsnummer"),
    "tr_TR": ("tr.tckimlik", "TC kimlik"),
}


class Text(NamedTuple):
    kind: str
    locale: str
    text: str
    # The range of the planted value; empty if nothing is planted.
    start: int
    end: int


class Maker:
    def __init__(self, locale: str, seed: int):
        self.locale = locale
        self.fake = Faker(locale)
        self.fake.seed_instance(f"{seed} {locale}")
        self.any = Faker("en_US")
        self.any.seed_instance(f"{seed} {locale}")
        self.random = random.Random(f"{seed} {locale}")
        name = ID_RULES[locale][0]
        self.rule = importlib.import_module(f"stdnum.{name}") if name else None

    def digits(self, count: int) -> str:
        return str(self.random.randint(1, 9)) + "".join(self.random.choice(string.digits) for _ in range(count - 1))

    def letters(self, count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
        return "".join(self.random.choice(alphabet) for _ in range(count))

    # --- values

    def email(self) -> str:
        return self.fake.email()

    def phone(self) -> str:
        return self.fake.phone_number()

    def card(self) -> str:
        number = self.fake.credit_card_number()
        if self.random.random() < 0.5 and len(number) == 16:
            return self.random.choice(" -").join(number[i : i + 4] for i in range(0, 16, 4))
        return number

    def iban(self) -> str:
        number = self.any.iban() if self.locale in ("en_US", "ja_JP", "ko_KR", "zh_CN", "en_IN") else self.fake.iban()
        return " ".join(number[i : i + 4] for i in range(0, len(number), 4)) if self.random.random() < 0.5 else number

    def ip(self) -> str:
        return self.any.ipv4() if self.random.random() < 0.6 else self.any.ipv6()

    def mac(self) -> str:
        colons = self.any.mac_address()
        plain = colons.replace(":", "")
        dots = ".".join(plain[i : i + 4] for i in (0, 4, 8))
        return self.random.choice([colons, colons.upper(), colons.replace(":", "-").upper(), dots])

    def national_id(self) -> str:
        while True:
            value = self.raw_id()
            if self.rule is None or self.rule.is_valid(value):
                return value

    def raw_id(self) -> str:
        match self.locale:
            case "en_GB":
                letters = self.random.choice("ABCEGHJKLMNOPRSTWXY") + self.random.choice("ABCEGHJKLMNPRSTWXYZ")
                if letters in ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ"):
                    return self.raw_id()
                n, last = self.letters(6, string.digits), self.random.choice("ABCD")
                return self.random.choice([f"{letters}{n}{last}", f"{letters} {n[:2]} {n[2:4]} {n[4:]} {last}"])
            case "de_DE":
                n = self.digits(11)
                return self.random.choice([n, f"{n[:2]} {n[2:5]} {n[5:8]} {n[8:]}"])
            case "es_ES":
                number = self.random.randint(1_000_000, 99_999_999)
                return f"{number:08}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"
            case "ja_JP":
                n = self.digits(11)
                rest = sum(int(d) * (i + 2 if i < 6 else i - 4) for i, d in enumerate(reversed(n))) % 11
                n += str(0 if rest <= 1 else 11 - rest)
                return self.random.choice([n, f"{n[:4]} {n[4:8]} {n[8:]}"])
            case "en_IN":
                n = self.digits(12)
                return self.random.choice([n, f"{n[:4]} {n[4:8]} {n[8:]}"])
            case "pt_BR":
                n = self.fake.ssn()
                return self.random.choice([n, f"{n[:3]}.{n[3:6]}.{n[6:9]}-{n[9:]}"])
            case "fr_FR":
                n = self.fake.ssn()
                grouped = f"{n[0]} {n[1:3]} {n[3:5]} {n[5:7]} {n[7:10]} {n[10:13]} {n[13:]}"
                return self.random.choice([n, grouped])
            case _:
                return self.fake.ssn()

    def key(self) -> str:
        upper, lower = string.ascii_uppercase, string.ascii_lowercase
        full = string.ascii_letters + string.digits
        choice = self.random.randrange(10)
        match choice:
            case 0: return "AKIA" + self.letters(16, upper + "234567")
            case 1: return "ghp_" + self.letters(36)
            case 2: return self.random.choice(["sk_live_", "rk_test_"]) + self.letters(24)
            case 3: return "xoxb-" + self.digits(12) + "-" + self.digits(12) + "-" + self.letters(24)
            case 4: return "AIza" + self.letters(35, full + "_-")
            case 5: return "glpat-" + self.letters(20, full + "_-")
            case 6: return "SG." + self.letters(22, full + "_-") + "." + self.letters(43, full + "_-")
            case 7: return "npm_" + self.letters(36)
            case 8:
                parts = [base64.urlsafe_b64encode(p.encode()).decode().rstrip("=") for p in ('{"alg":"HS256"}', f'{{"sub":"{self.digits(9)}"}}')]
                return ".".join([*parts, self.letters(43, full + "_-")])
            case _: return self.random.choice(["api_key=", "client_secret: ", "password=", "x-api-key: "]) + self.letters(32, lower + string.digits)

    def url(self) -> str:
        value = self.random.choice([self.phone, self.card, self.iban, self.email])()
        return self.random.choice([urllib.parse.quote, urllib.parse.quote_plus])(value, safe="")

    # --- texts with a value

    def announced(self, kind: str) -> str:
        words = {
            "phone": PHONE_WORDS[self.locale], "national_id": ID_RULES[self.locale][1], "card": "card", "iban": "IBAN", "ip": "ip",
            "mac": "MAC address", "email": "e-mail", "key": "credentials",
        }
        return words[kind]

    def planted(self, kind: str, number: int) -> Text:
        value = getattr(self, kind)()
        style = number % 4
        if kind == "url":
            before, after = f"https://shop.example/{self.letters(5)}?q=1&v=", "&page=2" if style % 2 else ""
        elif style == 0:
            before, after = "", ""
        elif style == 1:
            before, after = self.fake.sentence() + " ", " " + self.fake.sentence()
        elif style == 2:
            before, after = self.announced(kind) + ": ", "."
        else:
            before, after = "a=1; v=", ", b=2"
        start = len(before)
        # The word before a secret that is announced by a word is not itself a secret.
        hidden = value
        for word in ("api_key=", "client_secret: ", "password=", "x-api-key: "):
            if value.startswith(word):
                hidden = value[len(word):]
        start += len(value) - len(hidden)
        return Text(kind, self.locale, before + value + after, start, start + len(hidden))


def negatives(maker: Maker) -> dict:
    """The makers of texts without personal data, by name."""
    r, f, e = maker.random, maker.fake, maker.any
    n = maker.digits
    return {
        "user agent": e.user_agent,
        "chrome": lambda: f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{r.randint(90, 140)}.0.{r.randint(0, 7000)}.{r.randint(0, 200)} Safari/537.36",
        "version": lambda: r.choice(["version ", "Version: ", "build ", "v", "release=", "App/", "SDK "]) + ".".join(str(r.randint(0, 40)) for _ in range(r.choice([3, 4]))),
        "order number": lambda: n(r.randint(10, 20)),
        "named order": lambda: r.choice(["Order #", "order_id=", "invoice ", "Bestellung ", "ticket "]) + n(r.randint(8, 20)),
        "grouped order": lambda: r.choice([f"{n(3)}-{n(7)}-{n(7)}", f"2024-{n(6)}-{n(2)}", f"{n(4)}-{n(4)}-{n(4)}", f"ORD-{n(3)}-{n(3)}-{n(4)}"]),
        "tracking number": lambda: r.choice(["1Z" + maker.letters(16, string.digits + "AEW"), n(22), n(12), f"RR{n(9)}{maker.locale[-2:]}"]),
        "time": lambda: e.date_time().isoformat() + r.choice(["Z", "+02:00", ".123456Z", ""]),
        "unix time": lambda: str(r.randint(1_400_000_000, 1_900_000_000) * r.choice([1, 1000, 1_000_000]) + r.randint(0, 999)),
        "date": lambda: e.date(r.choice(["%d.%m.%Y %H:%M", "%d/%m/%Y", "%Y/%m/%d %H:%M:%S", "%d-%m-%Y", "%Y%m%d%H%M%S"])),
        "uuid": e.uuid4,
        "hash": lambda: r.choice([e.sha1, e.md5, e.sha256])(),
        "amount": lambda: r.choice([f"{r.randint(1, 999)}.{n(3)},{n(2)} EUR", f"${r.randint(1, 99)},{n(3)}.{n(2)}", f"{n(2)} {n(3)} {n(3)}"]),
        "article": lambda: r.choice([e.ean13, e.isbn13, e.isbn10, e.ean8])(),
        "place": lambda: f"{r.uniform(-90, 90):.6f},{r.uniform(-180, 180):.6f}",
        "size": lambda: r.choice([f"{n(4)}x{n(4)}", f"{n(2)}-{n(2)}-{n(2)}", f"{n(3)}/{n(3)}/{n(2)}", f"{n(1)}:{n(2)}:{n(2)}"]),
        "sku": lambda: r.choice([f"{maker.letters(3, string.ascii_uppercase)}-{n(5)}-{n(2)}", f"SM-S{n(3)}B", maker.letters(10, "0123456789ABCDEF"), f"{n(3)}.{n(3)}.{n(2)}"]),
        "sentence": f.sentence,
        "address": lambda: f.address().replace("\n", ", "),
    }


def generate(seed: int, each: int) -> list[Text]:
    texts = []
    for locale in LOCALES:
        maker = Maker(locale, seed)
        for kind in KINDS:
            texts += [maker.planted(kind, i) for i in range(each)]
        for name, make in negatives(maker).items():
            texts += [Text("no " + name, locale, make(), 0, 0) for _ in range(each)]
    return texts
