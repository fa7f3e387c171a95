"""Quotas of planned networks, looked up in advance. When a network is built, its quotas move to its own file.

An application that publishes there itself, on the channel of the same name, is held to them.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

CHECKED = date(2026, 11, 16)
CALIFORNIA = "America/Los_Angeles"
TIKTOK = "https://developers.tiktok.com/doc/content-posting-api-reference-direct-post (video/init, per user token)"
X = (
    "second-hand, quoted in September 2026 from X's rate limits;"
    " https://docs.x.com/x-api/posts/manage-tweets/migrate/overview still says 200, and 300 in 3 hours"
)
YOUTUBE = "https://developers.google.com/youtube/data/determine_quota_cost: the default of a project"

PLANNED_QUOTAS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "instagram": [
        {
            "name": "containers per 24 hours",
            "most": 400,
            "period": {"hours": 24},
            "whose": "account",
            "costs": {"container": 1},
            "checked": CHECKED,
            "source": "second-hand, from Meta's Content Publishing guide, where it was not found again. Number of"
            " posts: Meta's pages disagree (50 on media_publish); each account's content_publishing_limit tells",
        }
    ],
    "threads": [
        {
            "name": "posts per 24 hours",
            "most": 250,
            "period": {"hours": 24},
            "whose": "account",
            "costs": {"publish": 1},
            "checked": CHECKED,
            "source": "https://developers.facebook.com/documentation/threads/overview (Posts); replies have a limit of"
            " their own, 1,000",
        }
    ],
    "tiktok": [
        {
            "name": "posts per minute",
            "most": 6,
            "period": {"minutes": 1},
            "whose": "account",
            "costs": {"publish": 1},
            "checked": CHECKED,
            "source": TIKTOK,
        }
    ],
    # Publishing is one videos.insert, which has a quota of its own, and one videos.update, which makes it public.
    "youtube": [
        {
            "name": "uploads per day",
            "most": 100,
            "calendar": "day",
            "timezone": CALIFORNIA,
            "whose": "channel",
            "costs": {"publish": 1},
            "checked": CHECKED,
            "source": YOUTUBE,
        },
        {
            "name": "units per day",
            "most": 10_000,
            "calendar": "day",
            "timezone": CALIFORNIA,
            "whose": "channel",
            "costs": {"publish": 50},
            "checked": CHECKED,
            "source": YOUTUBE,
        },
    ],
    "x": [
        {
            "name": "posts per 15 minutes",
            "most": 100,
            "period": {"minutes": 15},
            "whose": "account",
            "costs": {"publish": 1},
            "checked": CHECKED,
            "source": X,
        },
        {
            "name": "posts per 24 hours",
            "most": 10_000,
            "period": {"hours": 24},
            "whose": "channel",
            "costs": {"publish": 1},
            "checked": CHECKED,
            "source": X,
        },
    ],
}
