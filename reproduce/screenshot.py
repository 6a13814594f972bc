"""Pictures of the search page for the docs, on a desk and on a phone: ``python -m reproduce.screenshot``.

They show the index that ``make demo`` builds, or the off-the-shelf encoder if there is none.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser

from tests.serving.process import chromium, serving

DOCS = Path(__file__).parents[1] / "docs"
DEMO = Path("runs/demo/index")
BANK = "assets/sample"

QUERY = {"text": "In the figure KL∥MN. One angle is marked 69°; calculate the angle with the question mark."}

#: Width and height of the windows, and dots per pixel.
WINDOWS = {"search.png": (1280, 1080, 1.5), "search-phone.png": (390, 844, 2)}


def take(browser: Browser, address: str, file: Path, window: tuple[int, int, float], *, dark: bool = False) -> None:
    """Searches for a text, and takes the picture."""
    width, height, dots = window
    page = browser.new_page(
        viewport={"width": width, "height": height},
        device_scale_factor=dots,
        color_scheme="dark" if dark else "light",
        has_touch=width < 600,
    )
    page.goto(f"{address}/?{urlencode(QUERY)}")
    page.locator(".card").first.wait_for()
    page.locator("#preview math").first.wait_for()
    page.locator("article .figures img").first.wait_for()
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
    parser.add_argument("--index", type=Path, default=DEMO, help=f"index to show ({DEMO})")
    parser.add_argument("--out", type=Path, default=DOCS, help=f"folder of the pictures ({DOCS.name})")
    parser.add_argument("--dark", action="store_true", help="dark theme")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = args.index
        if not index.is_dir():
            index = Path(folder, "index")
            command = [sys.executable, "-m", "tqnet.cli", "index", BANK, "--model", "encoder:minilm"]
            subprocess.run([*command, "--out", str(index)], check=True)
        pairs = str(Path(folder, "pairs.jsonl"))
        with serving(index, "--pairs", pairs) as address, chromium() as browser:
            for name, window in WINDOWS.items():
                take(browser, address, args.out / name, window, dark=args.dark)
                print(args.out / name)


if __name__ == "__main__":
    main()
