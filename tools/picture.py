"""Draw the comment of the demo as GitHub shows it, docs/comment.png, and store beside it the SHA-256 of its markdown.

usage: python -m tools.picture [MARKDOWN PNG], which draws any other file of markdown instead.
Needs Debian's chromium, fonts-noto-core and fonts-noto-color-emoji. The style sheet is light.css of npm github-markdown-css 5.9.0 (MIT,
its licence beside it). Unlike GitHub it draws no mention, reference or :emoji: of letters, and no colours in diffs.
"""

import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "comment.png"
HASH = ROOT / "docs" / "comment.sha256"
WIDTH = 900
"""CSS pixels: a comment on a pull request in a window of usual size."""
_SCALE = 2
_SECONDS = 120
# Pixels of CSS that a window may take beside its page, in which nothing is drawn.
_SPARE = 300
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_STYLE = Path(__file__).parent / "github_markdown_css" / "light.css"
# Letters and room of a comment on GitHub, which are smaller than those of a README.
_BOX = """
body { margin: 0; background: #fff }
.comment { margin: 8px; border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden }
.who { padding: 8px 16px; font: 14px "Noto Sans", sans-serif; color: #59636e; background: #f6f8fa; border-bottom: 1px solid #d1d9e0 }
.who b { color: #1f2328 }
.who span { padding: 0 6px; font-size: 12px; border: 1px solid #d1d9e0; border-radius: 2em }
.comment .markdown-body { padding: 16px; font-size: 14px }
"""
# Runs when everything above it is laid out, and before the browser says what became of the page.
_MEASURE = "<script>document.title = Math.ceil(document.documentElement.getBoundingClientRect().height)</script>"
_MEASURED = re.compile(r"<title>(\d+)</title>")


def example() -> str:
    """The comment of the demo, first line included, without the age of its facts: that one grows by itself."""
    done = subprocess.run([sys.executable, ROOT / "tools" / "demo.py"], check=True, capture_output=True, text=True)
    return re.sub(r"(facts of [0-9-]+), \d+ months old: [^·\n]*", r"\1", done.stdout)


def digest(markdown: str) -> str:
    """The hash under which a picture of this markdown is known."""
    return hashlib.sha256(markdown.encode()).hexdigest()


def page(markdown: str) -> str:
    """The markdown as a page of HTML: GitHub's own parser with its tag filter, and the line breaks of comments."""
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_HARDBREAKS
    body = cmarkgfm.github_flavored_markdown_to_html(markdown, options=options)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title></title><style>{_STYLE.read_text("utf-8")}{_BOX}</style>'
        '<body><div class="comment"><div class="who"><b>github-actions</b> <span>bot</span> commented</div>'
        f'<article class="markdown-body">{body}</article></div>{_MEASURE}</body></html>'
    )


def draw(markdown: str, png: Path) -> None:
    """Write the picture of the markdown, as high as its content. Raises RuntimeError without a browser, or one that draws nothing."""
    browser = shutil.which("chromium")
    if browser is None:
        raise RuntimeError("chromium is not here: apt-get install chromium fonts-noto-core fonts-noto-color-emoji")
    with tempfile.TemporaryDirectory(prefix="drift-picture-") as name:
        folder = Path(name)
        (folder / "page.html").write_text(page(markdown), encoding="utf-8")
        found = _MEASURED.search(_browse(browser, folder, 1000, "--dump-dom"))
        if found is None:
            raise RuntimeError("chromium did not say how high the page is")
        shot = folder / "page.png"
        _browse(browser, folder, int(found[1]) + _SPARE, f"--screenshot={shot}")
        if not shot.is_file():
            raise RuntimeError("chromium wrote no picture")
        png.write_bytes(_cropped(shot.read_bytes(), int(found[1]) * _SCALE))


def _cropped(png: bytes, height: int) -> bytes:
    """The first rows of a picture of red, green and blue bytes: a row depends on those above it only (PNG specification, section 9)."""
    width, _ = struct.unpack(">II", png[16:24])
    if png[24:29] != bytes((8, 2, 0, 0, 0)):
        raise RuntimeError("chromium wrote a picture of another kind")
    packed, at = b"", len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        packed += png[at + 8 : at + 8 + length] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += length + 12
    kept = zlib.decompress(packed)[: height * (3 * width + 1)]
    parts = {b"IHDR": struct.pack(">II", width, height) + png[24:29], b"IDAT": zlib.compress(kept, 9), b"IEND": b""}
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part)) for kind, part in parts.items()
    )


def _browse(browser: str, folder: Path, height: int, *what: str) -> str:
    """Show the folder's page in a window of that height, with a profile of its own and no network; what the browser printed."""
    command = [browser, "--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--disable-sync"]
    command += ["--disable-background-networking", "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += [
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={WIDTH},{height}",
        f"--force-device-scale-factor={_SCALE}",
    ]
    # The browser refuses its sandbox to root; the page is our own.
    command += ["--no-sandbox"] if os.geteuid() == 0 else []
    env = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(
        [*command, *what, (folder / "page.html").as_uri()], check=False, capture_output=True, text=True, timeout=_SECONDS, env=env
    )
    if done.returncode:
        raise RuntimeError(f"chromium ended with {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def main(arguments: list[str]) -> int:
    """Draw, and say where."""
    if len(arguments) not in (0, 2):
        print((__doc__ or "").split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        if arguments:
            draw(Path(arguments[0]).read_text("utf-8"), Path(arguments[1]))
            return 0
        markdown = example()
        draw(markdown, PICTURE)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    HASH.write_text(f"{digest(markdown)}\n", encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
