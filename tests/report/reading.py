"""A page open in a browser, offline, that notes every complaint and every request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page


@contextmanager
def opened(browser: Browser, path: Path, *, width: int = 1100, dark: bool = False) -> Iterator[Page]:
    """The page, read to the end of the block; then nothing may have been asked for and nothing complained about."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light", accept_downloads=True
    )
    context.set_offline(True)
    page = context.new_page()
    page.set_default_timeout(10_000)
    noted: list[str] = []
    own = path.resolve().as_uri()
    page.on("console", lambda message: noted.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: noted.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (noted.append(f"dialog: {dialog.message}"), dialog.dismiss()))  # type: ignore[func-returns-value]
    # The page itself, the empty icon, and the download it makes of itself are no requests to anywhere.
    page.on("request", lambda r: None if r.url == own or r.url.startswith(("data:", "blob:")) else noted.append(r.url))
    page.goto(own)
    try:
        yield page
        assert noted == []
    finally:
        context.close()


def numbers(page: Page, selector: str) -> list[float]:
    """The numbers shown by every match."""
    return [float(text) for text in page.locator(selector).all_inner_texts()]


def contrasts(page: Page, selector: str) -> list[dict[str, Any]]:
    """The contrast of text and background (WCAG) of every match."""
    found: list[dict[str, Any]] = page.evaluate(
        """(selector) => {
          const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
          const light = (colour) => {
            canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((v) => {
              const c = v / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          return [...document.querySelectorAll(selector)].map((node) => {
            const style = getComputedStyle(node);
            let back = node;
            const clear = (one) => getComputedStyle(one).backgroundColor === "rgba(0, 0, 0, 0)";
            while (back.parentElement && clear(back)) back = back.parentElement;
            const [a, b] = [light(style.color), light(getComputedStyle(back).backgroundColor)].sort((x, y) => y - x);
            return { of: node.className || node.tagName, contrast: (a + 0.05) / (b + 0.05) };
          });
        }""",
        selector,
    )
    return found


def cut_off(page: Page) -> list[str]:
    """Words of pictures that reach beyond the picture, where they are not seen."""
    words: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("svg text")].filter((text) => {
          const box = text.getBoundingClientRect(), all = text.ownerSVGElement.getBoundingClientRect();
          return box.width > 0 && (box.left < all.left - 1 || box.right > all.right + 1 ||
                                   box.top < all.top - 2 || box.bottom > all.bottom + 2);
        }).map((text) => text.textContent)"""
    )
    return words
