"""Reading the project's documents: their tables, blocks, links and commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
PROJECT = [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
EVERYTHING = [*PAGES, *PROJECT, *sorted((ROOT / "examples").rglob("*.md"))]

BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]+) -->\n)?^(?P<fence>```+)(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block. Its mark is the comment on the line above it."""

    page: Path
    language: str
    text: str
    mark: str | None

    @property
    def file(self) -> str | None:
        """`<!-- file: shop.py -->`: the reader saves it under this name."""
        return self._marked("file: ")

    @property
    def not_run(self) -> str | None:
        """`<!-- not run: reason -->`: the only way not to be run."""
        return self._marked("not run: ")

    @property
    def answered(self) -> str | None:
        """`<!-- answers: 422 -->`: what its requests are answered with, where that is no success."""
        return self._marked("answers: ")

    @property
    def is_marked_rightly(self) -> bool:
        return self.mark is None or bool(self.file or self.not_run or self.answered)

    def _marked(self, word: str) -> str | None:
        return self.mark.removeprefix(word) if self.mark and self.mark.startswith(word) else None

    @property
    def commands(self) -> list[str]:
        return re.findall(r"^\$ (.+)$", self.text, re.MULTILINE) if self.language == "console" else []


def blocks(page: Path, *languages: str) -> list[Block]:
    found = [Block(page, match["language"], match["text"], match["mark"]) for match in BLOCK.finditer(page.read_text())]
    return [block for block in found if not languages or block.language in languages]


def prose(page: Path) -> str:
    """The page without its blocks."""
    return BLOCK.sub("", page.read_text())


def flowing(page: Path) -> str:
    """Return the page without its blocks, as if it had no line breaks."""
    return " ".join(prose(page).split())


def tables(page: Path, *columns: str) -> list[dict[str, str]]:
    """The rows of all tables with these columns, in their order."""
    return [row for names, rows in _tables(page) if names == list(columns) for row in rows]


def table(page: Path, *columns: str) -> list[dict[str, str]]:
    """The rows of the one table with these columns, in this order."""
    tables = [rows for names, rows in _tables(page) if names == list(columns)]
    assert len(tables) == 1, f"{page.name} has {len(tables)} tables with the columns {columns}"
    return tables[0]


def _tables(page: Path) -> Iterator[tuple[list[str], list[dict[str, str]]]]:
    lines = prose(page).splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"\|[-| ]+\|", line):
            names = _cells(lines[number - 1])
            rows = []
            for row in lines[number + 1 :]:
                if not row.startswith("|"):
                    break
                cells = _cells(row)
                assert len(cells) == len(names), f"{page.name}: {row}"
                rows.append(dict(zip(names, cells, strict=True)))
            yield names, rows


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def code(cell: str) -> str:
    """What stands between the first backticks of a cell."""
    found = CODE.search(cell)
    assert found, f"no code in {cell!r}"
    return found[1]


def codes(text: str) -> list[str]:
    return CODE.findall(text)


def anchors(page: Path) -> set[str]:
    """The addresses of a page's headings, as a code host makes them."""
    titles = HEADING.findall(BLOCK.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(page: Path) -> list[str]:
    return LINK.findall(prose(page))
