"""Save a picture: SVG as it is, PNG with a program of this machine."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from postino.errors import PostinoError, WrongUse

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT = 60.0


def parse_picture_path(text: str | None) -> Path | None:
    """Check --picture before any work is done."""
    if text is None:
        return None
    path = Path(text).expanduser()
    match path.suffix.lower():
        case ".svg":
            pass
        case ".png":
            if find_rasteriser() is None:
                instead = path.with_suffix(".svg").name
                message = "picture: PNG needs rsvg-convert or Chromium, and this machine has neither."
                raise WrongUse(f"{message} Use {instead}: every browser shows it.", field="picture")
        case _:
            raise WrongUse(f"picture: {text!r} must end in .svg or .png.", field="picture")
    if not path.absolute().parent.is_dir():
        raise WrongUse(f"picture: the directory {path.absolute().parent} does not exist.", field="picture")
    return path


def find_rasteriser() -> str | None:
    return next((path for name in ("rsvg-convert", *BROWSERS) if (path := shutil.which(name))), None)


def save(svg: str, path: Path) -> None:
    if path.suffix.lower() == ".svg":
        path.write_text(svg, encoding="utf-8")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, png = Path(folder) / "picture.svg", Path(folder) / "picture.png"
        source.write_text(svg, encoding="utf-8")
        rasterise(source, png, svg)
        shutil.copyfile(png, path)


def rasterise(source: Path, png: Path, svg: str) -> None:
    program = find_rasteriser()
    assert program is not None, "parse_picture_path found one"
    command = [program, "--output", str(png), str(source)]
    if Path(program).name in BROWSERS:
        width, height = (svg.split(f'{side}="', 1)[1].split('"', 1)[0] for side in ("width", "height"))
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={width},{height}",
        ]
        command = [program, *options, f"--screenshot={png}", source.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if result.returncode or not png.exists():
        output = result.stderr.strip()[-300:]
        raise PostinoError(f"{program} could not create a PNG: {output} Use a name that ends in .svg instead.")
