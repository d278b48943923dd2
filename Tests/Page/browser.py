"""A headless Chromium for the test of the page, and the numbers as the page writes them."""

import base64

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys


class Browser:
    def __init__(self):
        options = Options()
        for word in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                     "--no-first-run", "--window-size=1280,900"]:
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_page_load_timeout(60)

    def open(self, address):
        # A change of the fragment alone opens nothing.
        self.driver.get("about:blank")
        self.driver.get(address)

    def address(self):
        return self.driver.current_url

    def text(self):
        return self.run("return document.body.innerText")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def key(self, *names):
        chain = ActionChains(self.driver)
        for name in names:
            chain.send_keys(getattr(Keys, name.upper(), name))
        chain.perform()

    def view(self, name):
        """Opens a view by its link."""
        self.press(f'nav a[href="#{name}"]')

    def type(self, text):
        """Types into the element with the focus."""
        ActionChains(self.driver).send_keys(text).perform()

    def write(self, selector, text):
        """Replaces the text of a field, as if it were typed."""
        self.run("const e = document.querySelector(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input'))", selector, text)

    def press(self, selector):
        """Presses a link or a button with the keyboard."""
        self.run("document.querySelector(arguments[0]).focus()", selector)
        self.key("Enter")

    def choose(self, selector, value):
        self.run("const e = document.querySelector(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('change'))", selector, value)

    def look(self, width, scheme):
        """Sets the width of the window, and light or dark."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})

    def shot(self, path, whole=False):
        picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def accessible(self):
        self.driver.execute_cdp_cmd("Accessibility.enable", {})
        return self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]

    def messages(self):
        """What the browser has to say: errors of scripts, of requests and of the security policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def end(self):
        self.driver.quit()


def seconds_of(text):
    """Returns the seconds of a text such as `2 m 5 s`."""
    total = 0.0
    words = text.split()
    for number, unit in zip(words[::2], words[1::2]):
        total += float(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
    return total


def formatted(value, kind):
    """Returns a number of the status as the page writes it."""
    if value is None:
        return "–"
    if kind == "count":
        return f"{value:,}"
    if kind == "bytes":
        unit, units = 0, ["B", "kB", "MB", "GB", "TB"]
        while value >= 1000 and unit < len(units) - 1:
            value, unit = value / 1000, unit + 1
        return f"{value} B" if unit == 0 else f"{value:.1f} {units[unit]}"
    if kind == "rate":
        return f"{round(value):,}/s" if value >= 10 or value == 0 else f"{value:.1f}/s"
    return str(value)
