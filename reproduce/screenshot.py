"""A picture of the search page for the README: ``python -m reproduce.screenshot``.

Of the index that make demo leaves; or of the off-the-shelf encoder where there is none.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from tests.serving.process import chromium, serving

PAGE = Path(__file__).parents[1] / "docs" / "search.png"
DEMO = Path("runs/demo/index")
BANK = "assets/sample"

TEXT = r"Here $AB\parallel CD$, $\angle A=42^\circ$ and $\angle C=\frac12\cdot 102^\circ$. Find $\angle AEC$."

#: Width and height of the window, and dots per pixel.
DESKTOP, PHONE = (1280, 1080, 1.5), (390, 844, 2)


def take(browser: Browser, address: str, file: Path, window: tuple[int, int, float], *, dark: bool = False) -> None:
    """Searches for a text, and takes the picture."""
    width, height, dots = window
    page = browser.new_page(
        viewport={"width": width, "height": height},
        device_scale_factor=dots,
        color_scheme="dark" if dark else "light",
        has_touch=width < 600,
    )
    page.goto(address)
    page.get_by_label("Question", exact=True).fill(TEXT)
    page.get_by_role("button", name="Find similar questions").click()
    page.locator(".card").first.wait_for()
    page.locator(".card input").first.check()
    page.wait_for_function("[...document.images].every(image => image.complete)")
    page.wait_for_timeout(1200)
    if width >= 600:
        page.evaluate("scrollTo(0, 0)")
    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=file)
    page.close()


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, default=DEMO, help=f"that is shown ({DEMO})")
    parser.add_argument("--out", type=Path, default=PAGE, help=f"the picture ({PAGE.name})")
    parser.add_argument("--phone", action="store_true", help="as wide as a phone")
    parser.add_argument("--dark", action="store_true", help="as at night")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = args.index
        if not index.is_dir():
            index = Path(folder, "index")
            command = [sys.executable, "-m", "tqnet.cli", "index", BANK, "--model", "encoder:minilm"]
            subprocess.run([*command, "--out", str(index)], check=True)
        with serving(index) as address, chromium() as browser:
            take(browser, address, args.out, PHONE if args.phone else DESKTOP, dark=args.dark)
    print(args.out)


if __name__ == "__main__":
    main()
