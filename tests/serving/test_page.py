"""The search page in a real browser, against a real ``tqnet serve``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.serving.conftest import HOSTILE
from tests.serving.process import CHROMIUM, chromium, serving
from tqnet.questions import QuestionBank

KEY = "a key of sixteen"

# A process that loads torch, and a browser.
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


@pytest.fixture(scope="module")
def address(index_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    key = tmp_path_factory.mktemp("key") / "key.txt"
    key.write_text(KEY + "\n")
    fast = ["--device", "cpu", "--precision", "fp32"]
    with serving(index_folder, "--api-key-file", str(key), "--max-pixels", "1000000", *fast) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@contextmanager
def watched(browser: Browser, address: str, **options: object) -> Iterator[Page]:
    """The page with the key given; at the end it must not have complained, nor asked another host."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **options)
    page = context.new_page()
    complaints: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.goto(address)
    page.get_by_label("Key", exact=True).fill(KEY)
    page.get_by_role("button", name="Use it").click()
    expect(page.locator("#bank")).to_contain_text("questions")
    yield page
    refused = "Failed to load resource: the server responded with a status of"
    assert [text for text in complaints if not text.startswith(refused)] == []
    assert hosts <= {urlsplit(address).netloc, ""}  # "": blob:
    assert page.evaluate("window.hurt") is None
    context.close()


def search(page: Page) -> None:
    page.get_by_role("button", name="Find similar questions").click()
    expect(page.locator("main")).to_have_attribute("aria-busy", "false")


def clipboard(page: Page) -> str:
    return page.evaluate("navigator.clipboard.readText()")


def test_a_teacher_searches(browser: Browser, address: str, bank: QuestionBank) -> None:
    pictured = next(question for question in bank if question.images)
    with watched(browser, address) as page:
        expect(page.get_by_role("heading", name="What would you like more of?")).to_be_visible()
        page.get_by_label("Question", exact=True).fill(r"Find $x$ if $\frac{1}{2}x = 3$.")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#asked math mfrac")).to_have_count(1)
        expect(page.locator(".card")).to_have_count(10)
        expect(page.get_by_role("status").first).to_have_text(re.compile(r"10 questions in \d+ ms"))
        expect(page.locator(".card .why").first).to_contain_text("Meaning")

        page.set_input_files("#figures", pictured.images[0])
        expect(page.locator("#chosen img")).to_have_count(1)
        page.get_by_label("Figures", exact=True).select_option("with figures")
        page.get_by_label("Difficulty to").fill("4")
        page.get_by_label("How many").select_option("5")
        expect(page.locator("#active")).to_have_text("2")
        search(page)
        expect(page.locator("#asked img")).to_have_count(1)
        found = page.locator(".card").evaluate_all("cards => cards.map(card => card.dataset.id)")
        by_id = {question.id: question for question in bank}
        assert found
        assert all(by_id[id].images and by_id[id].difficulty <= 4 for id in found)
        picture = page.locator(".card .figures img").first
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 1

        page.get_by_role("button", name=f"Copy id {found[0]}").click()
        expect(page.locator("#toast")).to_have_text(f"Copied {found[0]}")
        assert clipboard(page) == found[0]
        page.get_by_label("Select all").check()
        page.get_by_role("button", name=f"Copy {len(found)} ids").click()
        assert clipboard(page) == "\n".join(found)

        page.locator(".card").first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("c")
        expect(page.locator("#toast")).to_have_text(f"Copied {found[1]}")

        page.get_by_role("button", name="Solution").first.click()
        expect(page.locator(".solved").first).to_be_visible()
        page.get_by_role("button", name="Similar to this").first.click()
        expect(page.locator("#known input")).to_have_value(found[0])
        expect(page.locator(f".card[data-id={found[0]}]")).to_have_count(0)


def test_a_figure_is_dropped_and_pasted(browser: Browser, address: str) -> None:
    drawn = """(kind) => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 60, height: 60 });
      canvas.getContext("2d").fillRect(10, 10, 30, 30);
      return new Promise((resolve) => canvas.toBlob((blob) => {
        const data = new DataTransfer();
        data.items.add(new File([blob], "drawn.png", { type: "image/png" }));
        const options = { bubbles: true, cancelable: true };
        document.querySelector("#text").dispatchEvent(kind === "drop"
          ? new DragEvent("drop", { ...options, dataTransfer: data })
          : new ClipboardEvent("paste", { ...options, clipboardData: data }));
        resolve();
      }));
    }"""
    with watched(browser, address) as page:
        page.evaluate(drawn, "drop")
        page.evaluate(drawn, "paste")
        expect(page.locator("#chosen img")).to_have_count(2)
        page.get_by_role("button", name="Remove figure 1").click()
        expect(page.locator("#chosen img")).to_have_count(1)
        search(page)
        expect(page.locator(".card")).to_have_count(10)
        expect(page.locator("#asked img")).to_have_count(1)


def test_a_hostile_question_is_only_read(browser: Browser, address: str) -> None:
    with watched(browser, address) as page:
        page.get_by_label("Question", exact=True).fill(f"Find the attack {HOSTILE.stem}")
        page.get_by_label("Compare by").select_option("wording")
        search(page)
        card = page.get_by_role("article", name=f"question {HOSTILE.id}")
        expect(card).to_be_visible()
        expect(card.locator(".id")).to_have_text(HOSTILE.id)
        expect(card.locator(".stem")).to_contain_text("Find the attack")
        card.get_by_role("button", name="Solution").click()
        expect(card.locator(".solved h3")).to_have_text(["Answer", "Analysis"])
        card.hover()
        page.wait_for_timeout(200)  # for what would load


def test_what_goes_wrong_is_said(browser: Browser, address: str, tmp_path: Path) -> None:
    from PIL import Image

    with watched(browser, address) as page:
        alert = page.get_by_role("alert")
        search(page)
        expect(alert).to_contain_text("Type a question, or add a figure.")
        page.get_by_label("Question", exact=True).fill("Find $x$")
        page.get_by_label("Concept").fill("no such concept")
        search(page)
        expect(page.get_by_role("status").first).to_have_text("No question matches.")
        expect(page.locator("#results")).to_have_text("Fewer filters leave more to be found.")
        page.get_by_label("Concept").fill("")

        large = tmp_path / "large.png"
        Image.new("1", (1200, 1000)).save(large)
        page.set_input_files("#figures", large)
        search(page)
        expect(alert).to_contain_text("more than 1 million pixels")
        page.get_by_role("button", name="Remove figure 1").click()

        def busy(route: Route) -> None:
            route.fulfill(status=429, headers={"Retry-After": "2"}, json={"detail": "64 searches are waiting already"})

        page.route("**/search", busy)
        search(page)
        expect(alert).to_contain_text("Many are searching just now. Try again in 2 seconds.")
        page.unroute("**/search")
        page.get_by_role("button", name="Try again").click()
        expect(page.locator(".card")).to_have_count(10)
        expect(alert).to_be_hidden()


def test_a_wrong_key_is_asked_for_again(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    page.get_by_label("Key", exact=True).fill("another")
    page.keyboard.press("Enter")
    expect(page.locator("#key-why")).to_have_text("That was not the key.")
    page.get_by_label("Key", exact=True).fill(KEY)
    page.keyboard.press("Enter")
    expect(page.locator("#bank")).to_contain_text("questions")
    assert page.evaluate("sessionStorage.length") == 1
    assert page.evaluate("localStorage.length") == 0
    page.close()


def test_it_fits_a_phone(browser: Browser, address: str) -> None:
    with watched(browser, address, viewport={"width": 360, "height": 740}, has_touch=True) as page:
        assert page.locator("#filters").get_attribute("open") is None
        page.get_by_label("Question", exact=True).fill("已知 $x^2 + 2x + 1 = 0$，求 $x$ 的值。")
        search(page)
        expect(page.locator(".card").first).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_control_has_a_name_and_every_picture_an_alternative(browser: Browser, address: str) -> None:
    unnamed = """() => [...document.querySelectorAll("input, select, textarea, button, img")]
      .filter((one) => one.tagName === "IMG"
        ? !one.hasAttribute("alt")
        : !(one.labels?.length || one.textContent.trim() || one.getAttribute("aria-label")))
      .map((one) => one.outerHTML)"""
    with watched(browser, address) as page:
        page.get_by_label("Question", exact=True).fill("Find $x$")
        search(page)
        assert page.evaluate(unnamed) == []
