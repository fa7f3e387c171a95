"""Read the documents of the project: tables, blocks, links and commands."""

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
        """`<!-- file: shop.py -->`: the reader saves the block under this name."""
        return self._read_mark("file: ")

    @property
    def not_run(self) -> str | None:
        """`<!-- not run: reason -->`: the only way to skip a block."""
        return self._read_mark("not run: ")

    @property
    def answered(self) -> str | None:
        """`<!-- answers: 422 -->`: the status of its responses, if it is an error."""
        return self._read_mark("answers: ")

    @property
    def is_marked_rightly(self) -> bool:
        return self.mark is None or bool(self.file or self.not_run or self.answered)

    def _read_mark(self, word: str) -> str | None:
        return self.mark.removeprefix(word) if self.mark and self.mark.startswith(word) else None

    @property
    def commands(self) -> list[str]:
        return re.findall(r"^\$ (.+)$", self.text, re.MULTILINE) if self.language == "console" else []


def blocks(page: Path, *languages: str) -> list[Block]:
    all_blocks = [
        Block(page, match["language"], match["text"], match["mark"]) for match in BLOCK.finditer(page.read_text())
    ]
    return [block for block in all_blocks if not languages or block.language in languages]


def prose(page: Path) -> str:
    """Return the page without its blocks."""
    return BLOCK.sub("", page.read_text())


def flow_text(page: Path) -> str:
    """Return the page without its blocks, as if it had no line breaks."""
    return " ".join(prose(page).split())


def tables(page: Path, *columns: str) -> list[dict[str, str]]:
    """Return the rows of all tables with these columns, in order."""
    return [row for names, rows in _tables(page) if names == list(columns) for row in rows]


def table(page: Path, *columns: str) -> list[dict[str, str]]:
    """Return the rows of the only table with these columns, in order."""
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
    """Return the text between the first backticks of a cell."""
    all_blocks = CODE.search(cell)
    assert all_blocks, f"no code in {cell!r}"
    return all_blocks[1]


def codes(text: str) -> list[str]:
    return CODE.findall(text)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    titles = HEADING.findall(BLOCK.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(page: Path) -> list[str]:
    return LINK.findall(prose(page))
