"""The HTML that Mastodon makes of the text of a status."""

import html
import re

LINK = re.compile(r"https?://[^\s<>\"]+[^\s<>\"'.,;:!?)]")
HASHTAG = re.compile(r"(?<![\w/&])#(\w*[^\W\d]\w*)")


def render_html(text: str, url: str) -> str:
    """Return the text as HTML: paragraphs, line breaks, links with a hidden scheme, hashtags as links."""
    escaped = html.escape(text, quote=True)
    linked = LINK.sub(lambda found: render_link(found[0]), escaped)
    tag = rf'<a href="{url}/tags/\1" class="mention hashtag" rel="tag">#<span>\1</span></a>'
    tagged = HASHTAG.sub(tag, linked)
    paragraphs = [part.replace("\n", "<br />") for part in re.split(r"\n{2,}", tagged.strip("\n"))]
    return "".join(f"<p>{part}</p>" for part in paragraphs) if text else ""


def render_link(url: str) -> str:
    scheme, _, rest = url.partition("://")
    seen, hidden = rest[:30], rest[30:]
    style = "ellipsis" if hidden else ""
    return (
        f'<a href="{url}" target="_blank" rel="nofollow noopener noreferrer" translate="no"><span class="invisible">'
        f'{scheme}://</span><span class="{style}">{seen}</span><span class="invisible">{hidden}</span></a>'
    )
