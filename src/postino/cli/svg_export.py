"""Target a picture is kept: SVG as it is, PNG where a program on this machine can make one of it."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from postino.errors import PostinoError, WrongUse

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0


def parse_picture_path(text: str | None) -> Path | None:
    """Refused before any work is done, target it could not be kept."""
    if text is None:
        return None
    path = Path(text).expanduser()
    match path.suffix.lower():
        case ".svg":
            pass
        case ".png":
            if rasteriser() is None:
                instead = path.with_suffix(".svg").name
                told = "picture: this machine has neither rsvg-convert nor Chromium to make a PNG."
                raise WrongUse(f"{told} Say {instead}: every browser shows it.", field="picture")
        case _:
            raise WrongUse(f"picture: {text!r} must end in .svg or .png.", field="picture")
    if not path.absolute().parent.is_dir():
        raise WrongUse(f"picture: there is no directory {path.absolute().parent}.", field="picture")
    return path


def rasteriser() -> str | None:
    return next((found for name in ("rsvg-convert", *BROWSERS) if (found := shutil.which(name))), None)


def keep(svg: str, path: Path) -> None:
    if path.suffix.lower() == ".svg":
        path.write_text(svg, encoding="utf-8")
        return
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "picture.svg", Path(folder) / "picture.png"
        source.write_text(svg, encoding="utf-8")
        rasterise(source, made, svg)
        shutil.copyfile(made, path)


def rasterise(source: Path, made: Path, svg: str) -> None:
    program = rasteriser()
    assert program is not None, "parse_picture_path has looked for one"
    command = [program, "--output", str(made), str(source)]
    if Path(program).name in BROWSERS:
        width, height = (svg.split(f'{side}="', 1)[1].split('"', 1)[0] for side in ("width", "height"))
        how = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}"]
        command = [program, *how, f"--screenshot={made}", source.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode or not made.exists():
        said = done.stderr.strip()[-300:]
        raise PostinoError(f"{program} could not make a PNG: {said} Give a name that ends in .svg instead.")
