"""The programs of the redaction bench: each returns the ranges of a text that it finds. All work by patterns, none with a language model."""

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import tempfile
from pathlib import Path

Ranges = list[tuple[int, int]]

# The kinds of personal data of the bench, in the names of Presidio. A find of another entity, such as a date, is not counted.
PRESIDIO = {
    "EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD", "IBAN_CODE", "IP_ADDRESS", "MAC_ADDRESS", "US_SSN", "UK_NINO", "DE_TAX_ID",
    "DE_SOCIAL_SECURITY", "ES_NIF", "ES_NIE", "IT_FISCAL_CODE", "PL_PESEL", "SE_PERSONNUMMER", "FI_PERSONAL_IDENTITY_CODE",
    "IN_AADHAAR", "KR_RRN", "KR_FRN", "TR_NATIONAL_ID",
}
REGIONS = "US GB DE FR ES IT NL PL SE BR JP KR CN IN FI CH NO TR".split()


def presidio(texts: list[str]) -> list[Ranges]:
    """The pattern recognisers of Presidio for these kinds, all countries at once, every score; telephone numbers of all 18 regions."""
    import presidio_analyzer.predefined_recognizers as package
    import tldextract
    from presidio_analyzer import EntityRecognizer

    # The list of top-level domains that the package holds, so that nothing is fetched.
    tldextract.extract = tldextract.TLDExtract(suffix_list_urls=())

    recognizers, seen = [], set()
    for _, name, _ in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "generic" not in name and "country_specific" not in name or "south_africa" in name:
            continue
        for _, made in inspect.getmembers(importlib.import_module(name), inspect.isclass):
            if not name.endswith("_recognizer") or not issubclass(made, EntityRecognizer) or made.__module__ != name:
                continue
            one = made(supported_regions=REGIONS) if made.__name__ == "PhoneRecognizer" else made()
            if set(one.supported_entities) & PRESIDIO and made.__name__ not in seen:
                seen.add(made.__name__)
                recognizers.append(one)
    missing = PRESIDIO - {entity for one in recognizers for entity in one.supported_entities}
    assert not missing, f"Presidio has no recogniser for {missing}"

    def find(text: str) -> Ranges:
        found = []
        for one in recognizers:
            found += [(f.start, f.end) for f in one.analyze(text, one.supported_entities, None) or [] if f.score > 0]
        return found

    return [find(text) for text in texts]


def scrubadub(texts: list[str]) -> list[Ranges]:
    """The detectors of scrubadub for these kinds. Its telephone numbers and ids are of the one locale that it is given: en_US and en_GB."""
    import warnings

    from scrubadub import Scrubber, detectors

    warnings.filterwarnings("ignore")
    scrubbers = []
    for locale, extra in (("en_US", [detectors.en_US.SocialSecurityNumberDetector]), ("en_GB", [detectors.en_GB.NationalInsuranceNumberDetector])):
        kinds = [detectors.EmailDetector, detectors.PhoneDetector, detectors.CreditCardDetector, detectors.CredentialDetector, *extra]
        scrubbers.append(Scrubber(locale=locale, detector_list=[kind(locale=locale) for kind in kinds]))
    return [[(f.beg, f.end) for one in scrubbers for f in one.iter_filth(text)] for text in texts]


def switchyard(texts: list[str], program: str, scrub: dict) -> list[Ranges]:
    """`scrub` of a running router. Each find becomes a mark that no text holds, so that its range can be computed from the result."""
    mark = "\u0001"
    kinds = scrub["find"]
    with tempfile.TemporaryDirectory() as folder:
        routes = Path(folder) / "routes.json"
        routes.write_text(json.dumps({
            "version": 1,
            "consent": {"levels": {"none": [], "all": ["operations"]}, "unknown": {"assume": "all"}, "default": "none"},
            "providers": {"out": {"plugin": "file", "path": folder + "/out.ndjson"}},
            "routes": [{"name": "all", "events": ["*"], "to": ["out"],
                        "transform": [{"scrub": {**scrub, "in": ["text"], "with": {kind: mark for kind in kinds}}}]}],
        }))
        lines = "".join(json.dumps({"type": "track", "event": "e", "number": i, "text": t}) + "\n" for i, t in enumerate(texts))
        done = subprocess.run([program, "--config", str(routes), "--state", folder + "/state"], input=lines.encode(), capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"switchyard ended with {done.returncode}: {done.stderr.decode()}")
        scrubbed = {}
        for line in (Path(folder) / "out.ndjson").read_text().splitlines():
            event = json.loads(line)
            scrubbed[event["number"]] = event["text"]
    return [ranges(text, scrubbed[i], mark) for i, text in enumerate(texts)]


def ranges(text: str, scrubbed: str, mark: str) -> Ranges:
    """The ranges of the text in whose place the marks stand."""
    if mark not in scrubbed:
        assert scrubbed == text, "a text changed without a find"
        return []
    pattern = "(.+?)".join(re.escape(piece) for piece in scrubbed.split(mark))
    match = re.fullmatch(pattern, text, re.DOTALL)
    assert match, f"{scrubbed!r} was not made of {text!r}"
    return [match.span(i + 1) for i in range(scrubbed.count(mark))]
