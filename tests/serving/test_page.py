"""The search page in a real browser, against a real ``tqnet serve``."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.serving.conftest import HOSTILE
from tests.serving.process import CHROMIUM, chromium, serving
from tqnet.questions import QuestionBank
from tqnet.questions.pairs import read_pairs

KEY = "a key of sixteen"
TO_WRITE = "a key to write"

# A process that loads torch, and a browser.
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


@pytest.fixture(scope="module")
def judgements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("judgements") / "pairs.jsonl"


@pytest.fixture(scope="module")
def address(index_folder: Path, judgements: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    key = tmp_path_factory.mktemp("key") / "key.txt"
    key.write_text(KEY + "\n")
    (to_write := key.with_name("to-write.txt")).write_text(TO_WRITE)
    keys = ["--api-key-file", str(key), "--write-key-file", str(to_write)]
    fast = ["--device", "cpu", "--precision", "fp32", "--floor", "-1"]
    with serving(index_folder, *keys, "--pairs", str(judgements), "--max-pixels", "1000000", *fast) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@contextmanager
def watched(browser: Browser, address: str, path: str = "", **options: object) -> Iterator[Page]:
    """The page with the key given; at the end it must not have complained, nor asked another host."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **options)
    page = context.new_page()
    complaints: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.goto(address + path)
    page.locator("#key").fill(KEY)
    page.keyboard.press("Enter")
    expect(page.locator("#bank")).to_contain_text(re.compile("questions|道题"))
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
        shown_ids = page.locator(".card").evaluate_all("cards => cards.map(card => card.dataset.id)")
        by_id = {question.id: question for question in bank}
        assert shown_ids
        assert all(by_id[id].images and by_id[id].difficulty <= 4 for id in shown_ids)
        picture = page.locator(".card .figures img").first
        expect(picture).to_be_visible()
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 1

        page.get_by_role("button", name=f"Copy id {shown_ids[0]}").click()
        expect(page.locator("#toast")).to_have_text(f"Copied {shown_ids[0]}")
        assert clipboard(page) == shown_ids[0]
        page.get_by_label("Select all").check()
        page.get_by_role("button", name=f"Copy {len(shown_ids)} ids").click()
        assert clipboard(page) == "\n".join(shown_ids)

        page.locator(".card").first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("c")
        expect(page.locator("#toast")).to_have_text(f"Copied {shown_ids[1]}")

        page.get_by_role("button", name="Solution").first.click()
        expect(page.locator(".solved").first).to_be_visible()
        page.get_by_role("button", name="Similar to this").first.click()
        expect(page.locator("#known input")).to_have_value(shown_ids[0])
        expect(page.locator(f".card[data-id={shown_ids[0]}]")).to_have_count(0)


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
        concept = page.get_by_role("combobox", name="Concept")
        concept.fill("no such concept")
        search(page)
        expect(page.get_by_role("status").first).to_have_text("No question matches.")
        expect(page.locator("#results")).to_have_text("Fewer filters may find more.")
        expect(page.locator("#notes")).to_contain_text("No concept 'no such concept'")
        concept.fill("")

        large = tmp_path / "large.png"
        Image.new("1", (1200, 1000)).save(large)
        page.set_input_files("#figures", large)
        search(page)
        expect(alert).to_contain_text("more than 1 million pixels")
        page.get_by_role("button", name="Remove figure 1").click()

        def busy(route: Route) -> None:
            route.fulfill(status=429, headers={"Retry-After": "2"}, json={"detail": "64 searches are already waiting"})

        page.route("**/search", busy)
        search(page)
        expect(alert).to_contain_text("The server is busy. Try again in 2 seconds.")
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


MATRIX = " ".join(rf"{number}&" for number in range(115, 240, 12))
WIDE = (
    rf"已知 $\begin{{bmatrix}}{MATRIX}1\\{MATRIX}2\end{{bmatrix}}$，"
    rf"$$f(x)={'+'.join(f'a_{{{power}}}x^{{{power}}}' for power in range(9))}$$"
    r"$\begin{array}{c|cc} X & 115 & 127 \\ \hline P & \frac12 & \frac12 \end{array}$"
)


def test_wide_formulas_scroll_in_their_boxes(browser: Browser, address: str) -> None:
    # What of a formula lies where nobody can scroll, which number is cut, whether the lines of the table are drawn.
    measured = """() => {
      const lost = [...document.querySelectorAll(".formula")].filter((box) => {
        const text = box.closest(".text").getBoundingClientRect();
        const parts = [...box.querySelectorAll("*")].map((part) => part.getBoundingClientRect());
        box.scrollLeft = 0;
        const left = Math.min(...parts.map((part) => part.left));
        box.scrollLeft = 1e6;
        const right = Math.max(...[...box.querySelectorAll("*")].map((part) => part.getBoundingClientRect().right));
        return left < text.left - 1 || right > text.right + 1;
      });
      const broken = [...document.querySelectorAll("mn")].filter((number) => {
        const range = document.createRange();
        range.selectNodeContents(number);
        return range.getClientRects().length !== 1;
      });
      const ruled = document.querySelector(".asked mtd.above.before");
      const style = getComputedStyle(ruled);
      return [lost.length, broken.length, style.borderTopStyle, style.borderLeftStyle,
        document.querySelectorAll(".asked .wide").length, document.documentElement.scrollWidth];
    }"""
    with watched(browser, address, viewport={"width": 375, "height": 740}, has_touch=True) as page:
        page.get_by_label("Question", exact=True).fill(WIDE)
        search(page)
        expect(page.locator("#preview .wide")).to_have_count(2)
        assert page.evaluate(measured) == [0, 0, "solid", "solid", 2, 375]
        page.set_viewport_size({"width": 1280, "height": 740})
        expect(page.locator(".asked .wide")).to_have_count(0)


def test_questions_that_are_there_already(browser: Browser, address: str, bank: QuestionBank) -> None:
    existing = next(question for question in bank if re.search(r"\d", question.stem) and not question.options)
    with watched(browser, address) as page:
        page.get_by_label("Question", exact=True).fill(existing.stem)
        search(page)
        repeats = page.locator("#repeated")
        expect(repeats.get_by_role("heading")).to_have_text("You already have this")
        expect(repeats.locator(f"[data-id={existing.id}] .relation")).to_have_text("the same")
        page.get_by_label("Questions you already have").select_option("leave out")
        search(page)
        expect(repeats).to_be_hidden()
        number = re.search(r"\d+", existing.stem)
        assert number
        page.get_by_label("Question", exact=True).fill(existing.stem.replace(number[0], "1234567", 1))
        page.get_by_label("Questions you already have").select_option("show only these")
        search(page)
        expect(repeats.get_by_role("heading")).to_have_text("You have this with other numbers")
        expect(repeats.locator(f"[data-id={existing.id}] .relation")).to_have_text("other numbers")
        expect(repeats.locator(f"[data-id={existing.id}] mark")).to_have_text(["1234567", number[0]])
        expect(page.locator(".card")).to_have_count(0)


def test_the_address_holds_the_query(browser: Browser, address: str) -> None:
    with watched(browser, address, "?text=Find+x+%3C+3&k=5&by=text&language=zh&type=gone") as page:
        expect(page.get_by_label("Question", exact=True)).to_have_value("Find x < 3")
        expect(page.get_by_label("Compare by")).to_have_value("text")
        expect(page.locator("#results")).to_have_text("Fewer filters may find more.")
        page.get_by_label("Type", exact=True).select_option("")
        page.get_by_label("Language", exact=True).select_option("")
        search(page)
        expect(page.locator(".card")).to_have_count(5)
        assert urlsplit(page.url).query == "text=Find+x+%3C+3&k=5&by=text"
        page.get_by_role("button", name="Similar to this").first.click()
        expect(page.locator("#known input")).not_to_have_value("")
        page.go_back()
        expect(page.get_by_label("Question", exact=True)).to_have_value("Find x < 3")
        expect(page.locator(".card")).to_have_count(5)
        page.go_forward()
        expect(page.locator("#known input")).not_to_have_value("")
        page.get_by_role("button", name="Clear").click()
        expect(page).to_have_url(f"{address}/")
        expect(page.get_by_role("heading", name="What would you like more of?")).to_be_visible()


def test_signs_are_inserted_and_formulas_shown(browser: Browser, address: str) -> None:
    with watched(browser, address) as page:
        text = page.get_by_label("Question", exact=True)
        text.fill("Find x if ")
        page.get_by_role("button", name="fraction").click()
        page.keyboard.type("x+1")
        expect(text).to_have_value("Find x if (x+1)/()")
        page.keyboard.press("ArrowRight+ArrowRight+ArrowRight")
        text.fill("Find x if (x+1)/(2) = 3")
        expect(page.locator("#preview mfrac")).to_have_count(1)
        text.fill("$x")
        page.get_by_role("button", name="fraction").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.keyboard.type("2")
        expect(text).to_have_value("$x^{2}")
        text.fill("Find it")
        expect(page.locator("#preview")).to_be_hidden()


def test_more_results(browser: Browser, address: str, bank: QuestionBank) -> None:
    with watched(browser, address) as page:
        page.get_by_label("Question", exact=True).fill("Find $x$")
        search(page)
        while page.locator("#more").is_visible():
            shown = page.locator(".card").count()
            page.get_by_role("button", name="More results").click()
            expect(page.locator(".card").nth(shown)).to_be_focused()
        shown_ids = page.locator(".card").evaluate_all("cards => cards.map(card => card.dataset.id)")
        assert len(shown_ids) == len(set(shown_ids)) > 20
        expect(page.get_by_role("status").first).to_have_text(f"{len(shown_ids)} questions")


def test_questions_like_a_result_are_folded_below_it(browser: Browser, address: str) -> None:
    with watched(browser, address) as page:
        page.locator("#text").fill("What is 9 + 41?")
        search(page)
        like = page.locator(".folded").first
        expect(like.locator("summary")).to_have_text(re.compile(r"\d+ more like this"))
        expect(like.locator("li").first).to_be_hidden()
        like.locator("summary").click()
        expect(like.locator("li .text").first).to_be_visible()


def test_a_concept_is_chosen_by_keys(browser: Browser, address: str, bank: QuestionBank) -> None:
    path = next(question.knowledge[0] for question in bank if question.knowledge and len(question.knowledge[0]) > 2)
    with watched(browser, address) as page:
        concept = page.get_by_role("combobox", name="Concept")
        concept.fill(path[-1])
        item = page.get_by_role("treeitem", name=re.compile(rf"^{re.escape(path[-1])}, \d+ questions"))
        expect(item).to_be_visible()
        for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
            page.keyboard.press(key)
        expect(item).to_be_focused()
        page.keyboard.press("Enter")
        expect(concept).to_have_value("/".join(path))
        expect(page.locator("#concepts")).to_be_hidden()
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("treeitem", selected=True)).to_have_count(1)
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Escape")
        expect(concept).to_be_focused()


def test_the_page_in_chinese(browser: Browser, address: str) -> None:
    english = """() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const found = [];
      while (walker.nextNode()) {
        const { data, parentElement } = walker.currentNode;
        const isContent = parentElement.closest("code, kbd, .text, .path, .tags, .shared, #bank, [translate], .tree");
        if (/[A-Za-z]{2}/.test(data.replace("LaTeX", "")) && !isContent) found.push(data.trim());
      }
      for (const one of document.querySelectorAll("[aria-label], [placeholder]")) {
        const text = (one.getAttribute("aria-label") || "") + (one.getAttribute("placeholder") || "");
        if (text && !/[\u3400-\u9fff\d]/.test(text)) found.push(text);
      }
      return found;
    }"""
    with watched(browser, address, locale="zh-CN") as page:
        assert page.evaluate("document.documentElement.lang") == "zh-CN"
        page.locator("#text").fill("Find $x$")
        page.get_by_role("button", name="查找相似题").click()
        expect(page.locator(".card")).to_have_count(10)
        options = page.locator("#type option, #language option").all_inner_texts()
        assert [text for text in page.evaluate(english) if text not in options] == []
        page.get_by_role("button", name="English").click()
        expect(page.get_by_role("button", name="Find similar questions")).to_be_visible()
        expect(page.locator(".card")).to_have_count(10)
        page.reload()
        assert page.evaluate("document.documentElement.lang") == "en"


def test_judgements_are_kept(browser: Browser, address: str, judgements: Path, bank: QuestionBank) -> None:
    with watched(browser, address) as page:
        page.get_by_label("Question", exact=True).fill("Find $x$")
        search(page)
        first = page.locator(".card").first
        first.get_by_role("button", name="Variant").click()
        expect(page.locator("#key-why")).to_have_text("Saving this needs the key for writing.")
        page.keyboard.press("Escape")
        assert judgements.read_text() == ""
        first.get_by_role("button", name="Variant").click()
        page.get_by_label("Key", exact=True).fill(TO_WRITE)
        page.keyboard.press("Enter")
        expect(first.get_by_role("button", name="Variant")).to_have_attribute("aria-pressed", "true")
        first.focus()
        page.keyboard.press("1")
        expect(first.get_by_role("button", name="Similar", exact=True)).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("4")
        expect(page.locator(".card [aria-pressed=true]")).to_have_count(2)
        ids = page.locator(".card").evaluate_all("cards => cards.map(card => card.dataset.id)")
    queries = QuestionBank.load(judgements.with_name("pairs-queries.jsonl"))
    pairs = read_pairs(judgements, QuestionBank.from_questions([*bank, *queries]))
    by_place = dict(zip(pairs.first.tolist(), pairs.score.tolist(), strict=True))
    assert by_place == {bank.ids.index(ids[0]): 1, bank.ids.index(ids[1]): 0}


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The accessibility checker, which is not ours to keep (MPL-2.0)."""
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--prefix", str(folder), "--ignore-scripts", "axe-core@4.11.0"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("axe-core cannot be fetched here")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_contrast_labels_and_roles(browser: Browser, address: str, axe: str, colours: str, bank: QuestionBank) -> None:
    with watched(browser, address, color_scheme=colours, viewport={"width": 375, "height": 740}) as page:
        page.evaluate(axe)
        faults = """() => axe.run().then(({ violations }) => violations.flatMap(
          ({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`)))"""
        assert page.evaluate(faults) == []
        page.get_by_label("Question", exact=True).fill(WIDE)
        search(page)
        page.get_by_role("button", name="Solution").first.click()
        page.locator("#filters").evaluate("filters => { filters.open = true; }")
        page.get_by_role("combobox", name="Concept").click()
        assert page.evaluate(faults) == []
        page.get_by_label("Question", exact=True).fill(re.sub(r"\d", "7", bank[0].stem))
        page.get_by_label("Questions you already have").select_option("show only these")
        search(page)
        expect(page.locator("#repeated mark").first).to_be_visible()
        assert page.evaluate(faults) == []
