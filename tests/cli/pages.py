"""A reader of HTML pages for tests."""

import re
from html.parser import HTMLParser

VOID = {"meta", "img", "link", "br", "hr", "input"}


class Page(HTMLParser):
    """Collects the tags and words of a page, and asserts that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.text = text
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def assert_needs_nothing_else(page: Page) -> None:
    """Assert that a page makes no request, runs no script and is well-formed."""
    assert page.open == []
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "@import" not in page.text
    addresses = [
        *(attributes.get("src") or "" for _, attributes in page.tags),
        *(attributes.get("href") or "" for _, attributes in page.tags),
        *re.findall(r"""url\(["']?([^"')]*)""", page.text),
    ]
    assert {re.split("[,#]", address)[0] for address in addresses} <= {"", "data:image/png;base64"}
