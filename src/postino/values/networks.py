"""Networks that are planned: Postino knows their names and does not publish to them yet.

A network that Postino publishes to declares its name and title in its own file in `providers/`. When a planned network
is built, its line here moves there.
"""

from collections.abc import Mapping

PLANNED_NETWORKS: Mapping[str, str] = {
    "instagram": "Instagram",
    "facebook": "Facebook",
    "threads": "Threads",
    "tiktok": "TikTok",
    "youtube": "YouTube",
    "x": "X",
    "linkedin": "LinkedIn",
    "pinterest": "Pinterest",
    "wordpress": "WordPress",
    "google_business": "Google Business Profile",
    "discord": "Discord",
}  # name → title
