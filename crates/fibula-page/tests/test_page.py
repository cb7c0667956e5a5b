"""The page of `fibula serve` in a browser: Debian's Chromium, without a window.

`FIBULA` is the program; `cargo xtask page test` builds it and runs this.
"""

import contextlib
import ipaddress
import math
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

QUESTIONS = Path(__file__).parents[3] / "docs" / "questions.in"

# Where the pictures of the page go, to be looked at.
PICTURES = Path(__file__).parents[3] / "target" / "pictures"

SIZES = {"telephone": (360, 800), "desk": (1440, 900)}

# What a browser in a container cannot have.
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]

# Whether a pixel beside the middle of the map is something else than background.
COLOURED = """() => {
    const map = document.getElementById("map");
    const at = map.width / 2 + 12;
    const { data } = map.getContext("2d").getImageData(at, at, 1, 1);
    return data.slice(0, 3).join() !== "242,242,242";
}"""

# Drops a file on the page, as a hand would.
DROP = """([name, text]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name));
    for (const type of ["dragover", "drop"]) {
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true }));
    }
}"""


@contextlib.contextmanager
def served(*arguments: str) -> Iterator[str]:
    """A service, as its address."""
    command = [os.environ["FIBULA"], "serve", "--listen", "127.0.0.1:0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if found := re.search(r"listening at (http://\S+)", line):
                    yield found[1]
                    break
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("tables")
    made = folder / "internet.txt"
    command = [os.environ["FIBULA"], "table", "gen", "internet", "--size", "60000"]
    made.write_bytes(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    for name in ("today", "yesterday"):
        (folder / f"{name}.txt").write_bytes((QUESTIONS / f"{name}.txt").read_bytes())
    tables = [f"{name}={folder}/{name}.txt" for name in ("today", "yesterday", "internet")]
    with served("--poll", "50ms", *(word for table in tables for word in ("-t", table))) as url:
        yield f"{url}#{folder}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=OPTIONS)
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser: Browser, url: str, size: str = "desk", asked: str = "") -> Iterator[Page]:
    """The page at an address, ready. What its console says of errors fails the test."""
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height})
    said: list[str] = []
    page.on(
        "console",
        lambda message: said.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(url.partition("#")[0] + asked)
    expect(page.locator("#lengths table")).to_be_visible()
    yield page
    page.close()
    assert said == []


def check_readable(page: Page) -> None:
    """Nothing is wider than the screen, and axe finds nothing serious."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page)
    serious = [
        fault
        for fault in found.response["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == [], [
        (fault["id"], [node["html"] for node in fault["nodes"]]) for fault in serious
    ]


def test_what_is_known_beside_a_route_is_shown(browser: Browser) -> None:
    names, payloads = str(QUESTIONS / "as-names.txt"), str(QUESTIONS / "vrps.csv")
    arguments = ("-t", str(QUESTIONS / "today.txt"), "--as-names", names, "--vrps", payloads)
    with served(*arguments) as url, opened(browser, url, "telephone") as page:
        page.fill("#query", "192.0.2.7")
        found = "192.0.2.0/26 → 64666 AS64666 EXAMPLE-LAB, NL invalid-as"
        expect(page.locator(".found")).to_have_text(found)
        covers = page.locator("#answer table").first.locator("tbody tr")
        expect(covers.nth(1)).to_contain_text("64500 AS64500 EXAMPLE-NET, BE valid")
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=PICTURES / "beside.png", full_page=True)
        check_readable(page)


def test_what_is_typed_is_answered(browser: Browser, service: str) -> None:
    with opened(browser, service) as page:
        page.fill("#query", "192.0.2.7")
        expect(page.locator(".found")).to_have_text("192.0.2.0/26 → 64666")
        expect(page.locator("#answer table").first.locator("tbody tr")).to_have_count(2)
        page.fill("#query", "2001:db8:1::/48")
        expect(page.locator(".found")).to_contain_text("2001:db8:1::/48 → 64503")
        page.fill("#query", "as64666")
        expect(page.locator("#answer table")).to_contain_text("192.0.2.0/26")
        page.fill("#query", "no such text")
        expect(page.locator(".found")).to_contain_text("no value with")
        page.fill("#query", "300.1.2.3")
        expect(page.locator("#answer .faint")).to_contain_text("is no address or prefix yet")
        page.fill("#query", "2001:DB8:1:0::7/48")
        expect(page.locator(".found")).to_contain_text("2001:db8:1::/48 → 64503")


TYPED = [
    ("192.0.2/26", "192.0.2.0/26 → 64666"),
    ("192.0.2.7:443", "192.0.2.0/26 → 64666"),
    ("192.0.2.0/255.255.255.192", "192.0.2.0/26 → 64666"),
    ("192.0.2.0 - 192.0.2.63", "192.0.2.0/26 → 64666"),
    ("[2001:db8:1::7]:53", "2001:db8:1::/48 → 64503"),
    ("2001:db8:1::7%eth0", "2001:db8:1::/48 → 64503"),
]


def test_what_people_type_is_understood(browser: Browser, service: str) -> None:
    with opened(browser, service) as page:
        for typed, found in TYPED:
            page.fill("#query", "")
            page.fill("#query", typed)
            expect(page.locator(".found")).to_have_text(found)
        page.fill("#query", "192.0.2.7, 2001:db8:1::1\t10.0.0.1")
        rows = page.locator("#answer tbody tr")
        expect(rows).to_have_count(3)
        expect(rows.nth(0)).to_contain_text("64666")
        expect(rows.nth(1)).to_contain_text("2001:db8:1::/48")
        expect(rows.nth(2)).to_contain_text("no route")
        # An AS is no part of an address.
        page.fill("#query", "AS192")
        expect(page.locator(".found")).to_have_text("no value with “AS192”")


def test_many_routes_are_pages_with_a_total(browser: Browser, service: str) -> None:
    with opened(browser, service, asked="/?table=internet&q=0/0") as page:
        caption = page.locator("#answer .pages caption")
        expect(caption).to_have_text(re.compile(r"^Routes in 0\.0\.0\.0/0: 1 to 50 of [\d,]+$"))
        first = page.locator("#answer .pages tbody tr").first.inner_text()
        page.click("#answer .pages button:has-text('Next')")
        expect(caption).to_contain_text("51 to 100 of")
        assert page.locator("#answer .pages tbody tr").first.inner_text() != first
        page.click("#answer .pages button:has-text('Before')")
        expect(caption).to_contain_text("1 to 50 of")
        assert page.locator("#answer .pages tbody tr").first.inner_text() == first


def test_the_address_of_the_page_opens_what_it_shows(browser: Browser, service: str) -> None:
    with opened(browser, service) as page:
        page.select_option("#table", "internet")
        page.check("input[name=family][value='6']")
        page.select_option("#by", "value")
        page.fill("#query", "2001:db8::7")
        expect(page.locator("#legend")).to_contain_text("others")
        page.locator("#map").focus()
        page.locator("#map").press("+")
        page.locator("#map").press("ArrowRight")
        page.wait_for_function("location.search.includes('map=')")
        address = page.url
    shown = "[location.search, document.getElementById('legend').innerText]"
    with opened(
        browser, service, asked=address.partition("/?")[1] + address.partition("/?")[2]
    ) as page:
        expect(page.locator("#table")).to_have_value("internet")
        expect(page.locator("#by")).to_have_value("value")
        expect(page.locator("#query")).to_have_value("2001:db8::7")
        expect(page.locator("#legend")).to_contain_text("others")
        assert page.is_checked("input[name=family][value='6']")
        page.wait_for_function("wanted => location.href === wanted", arg=address)
        assert page.evaluate(shown)[0] == "?" + address.partition("/?")[2]
    # A comparison, too.
    with opened(browser, service, asked="/?table=today&by=changes&since=yesterday") as page:
        expect(page.locator("#differences table")).to_contain_text("192.0.2.0/26")
        expect(page.locator("#by")).to_have_value("changes")
        page.wait_for_function("location.search === '?table=today&by=changes&since=yesterday'")


def test_blocks_of_ipv6_are_side_by_side(browser: Browser, service: str) -> None:
    with opened(browser, service, asked="/?table=internet&family=6") as page:
        expect(page.locator("#legend")).to_contain_text(
            re.compile(r"the \d+ blocks with routes of 2000::/3")
        )
        origin = page.url.partition("/?")[0]
        legend = page.request.get(f"{origin}/v1/legend?table=internet&family=6").json()
        across = math.ceil(math.sqrt(len(legend["blocks"])))
        canvas = page.locator("#map")
        side = canvas.bounding_box()["width"]
        for at, block in enumerate(legend["blocks"]):
            column, row = at % across, at // across
            middle = {"x": (column + 0.5) * side / across, "y": (row + 0.5) * side / across}
            canvas.hover(position=middle)
            inside = ipaddress.ip_network(block)
            place = page.locator("#place")
            expect(place).to_have_text(re.compile(rf"^{block[:2]}"))
            told = ipaddress.ip_network(
                place.inner_text().partition(" ")[0].rstrip(":")
                if "/" in place.inner_text()
                else block
            )
            assert told.subnet_of(inside), (told, block)
        # Each has something in it.
        tiles = {
            page.request.get(f"{origin}/v1/tile?table=internet&family=6&block={block}").body()
            for block in legend["blocks"]
        }
        assert len(tiles) == len(legend["blocks"])


def test_the_map_is_pointed_at_and_zoomed(browser: Browser, service: str) -> None:
    with opened(browser, service) as page:
        page.fill("#query", "192.0.2.7")
        expect(page.locator(".found")).to_be_visible()
        page.press("#query", "Enter")
        canvas = page.locator("#map")
        canvas.focus()
        canvas.press("+")
        expect(page.locator("#place")).to_contain_text("192.0.2.")
        # The middle is what was asked about, and has a route: its colour is not the background's.
        expect(page.locator("#place")).to_contain_text("→")
        canvas.blur()
        page.wait_for_function(COLOURED)
        # Enter asks about the middle.
        canvas.focus()
        canvas.press("Enter")
        expect(page.locator("#query")).to_have_value(re.compile(r"192\.0\.2\."))
        canvas.press("0")
        canvas.hover(position={"x": 3, "y": 3})
        expect(page.locator("#place")).to_have_text(
            re.compile(r"^0\.\d+\.\d+\.0/18: no route covers it")
        )


def test_a_file_is_read_in_the_browser(browser: Browser, service: str) -> None:
    with opened(browser, service) as page:
        page.set_input_files("#file", QUESTIONS / "today.txt")
        expect(page.locator("#reading")).to_contain_text("routes of IPv4")
        expect(page.locator("#table")).to_have_value("today.txt (this browser)")
        # From here on the map of the service's table is asked for no more.
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.fill("#query", "192.0.2.7")
        expect(page.locator(".found")).to_have_text("192.0.2.0/26 → 64666")
        page.evaluate(DROP, ["yesterday.txt", (QUESTIONS / "yesterday.txt").read_text()])
        expect(page.locator("#table")).to_have_value("yesterday.txt (this browser)")
        page.select_option("#other", "today.txt (this browser)")
        page.click("#compare")
        expect(page.locator("#differences table")).to_contain_text("192.0.2.0/26")
        # Nothing was asked of the service but the page's own files and what is live.
        others = [url for url in asked if not re.search(r"/(page/|metrics|v1/events)", url)]
        assert others == []
        page.set_input_files(
            "#file", {"name": "none", "mimeType": "", "buffer": b"\x00\x01no table"}
        )
        expect(page.locator("#reading .bad")).to_be_visible()
        page.fill("#query", "10.0.0.1")
        expect(page.locator("#answer p").first).to_be_visible()


def test_tables_are_compared_engines_measured_and_changes_seen(
    browser: Browser, service: str
) -> None:
    folder = Path(service.partition("#")[2])
    with opened(browser, service) as page:
        page.select_option("#other", "yesterday")
        page.click("#compare")
        expect(page.locator("#differences table")).to_contain_text("192.0.2.0/26")
        expect(page.locator("#by")).to_have_value("changes")
        expect(page.locator("#legend")).to_contain_text("added")
        page.click("#race")
        rows = page.locator("#engines tbody tr")
        expect(page.locator("#race")).to_be_enabled(timeout=60_000)
        assert rows.count() > 3
        wrong = rows.locator("td:last-child").all_text_contents()
        assert all(text == "0" or " " in text for text in wrong), wrong
        beside = folder / "beside"
        beside.write_bytes((folder / "yesterday.txt").read_bytes() + b"203.0.113.128/25 64999\n")
        beside.replace(folder / "yesterday.txt")
        expect(page.locator("#events")).to_contain_text("added 203.0.113.128/25", timeout=20_000)


def nested(page: Page) -> str:
    """An address with several routes, of the table that is chosen."""
    origin = page.url.partition("/?")[0].rstrip("/")
    routes = page.request.get(f"{origin}/v1/routes?table=internet&covered-by=32.0.0.0/3").json()
    addresses = [route["prefix"].partition("/")[0] for route in routes]
    return max(sorted(set(addresses)), key=addresses.count)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_readable_in_both_themes_and_sizes(
    browser: Browser, service: str, size: str, theme: str
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with opened(browser, service, size) as page:
        page.select_option("#theme", theme)
        page.select_option("#table", "internet")
        page.select_option("#by", "value")
        expect(page.locator("#legend")).to_contain_text("others")
        page.fill("#query", nested(page))
        expect(page.locator("#answer table").first).to_be_visible()
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURES / f"{size}-{theme}.png")
        check_readable(page)


def test_a_token_is_asked_for(browser: Browser, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("a-secret-of-many-letters\n")
    with served("-t", f"today={QUESTIONS}/today.txt", "--token-file", str(secret)) as url:
        page = browser.new_page()
        page.goto(url)
        page.fill("#secret", "a-secret-of-many-letters")
        page.press("#secret", "Enter")
        expect(page.locator("#lengths table")).to_be_visible()
        page.close()
