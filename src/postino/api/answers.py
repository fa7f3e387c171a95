"""What each route answers when all goes well: one row for each, in the shapes that the client has."""

from collections.abc import Mapping
from typing import Any

from postino.client import house_shapes as house
from postino.client import job_shapes as jobs
from postino.client import people_shapes as people
from postino.client import sandbox_shapes as sandbox
from postino.client import shapes
from postino.client import simulation_shapes as simulation
from postino.client.words import Page

Shapes = Mapping[int, Any]  # by status; None: there is no body
EVENTS = "text/event-stream"


def ok(shape: Any) -> Shapes:
    return {200: shape}


def made(shape: Any) -> Shapes:
    return {201: shape}


QUEUED = {200: jobs.QueuedJob | jobs.PreviewedJob, 201: jobs.QueuedJob}
MADE = shapes.Made | shapes.MadeOne
PLANNED = {200: MADE, 201: MADE, 202: MADE}

ANSWERS: Mapping[tuple[str, str], Shapes] = {
    ("GET", "/health/live"): ok(house.SignOfLife),
    ("GET", "/health/ready"): ok(house.SignOfLife),
    ("POST", "/v1/login"): ok(people.SignedIn),
    ("GET", "/v1/me"): ok(people.Me),
    ("POST", "/v1/logout"): {204: None},
    ("GET", "/v1/api-keys"): ok(Page[people.ApiKey]),
    ("POST", "/v1/api-keys"): made(people.NewApiKey),
    ("DELETE", "/v1/api-keys/{key_id}"): ok(people.ApiKey),
    ("GET", "/v1/users"): ok(Page[people.User]),
    ("POST", "/v1/users"): made(people.User),
    ("GET", "/v1/users/{user_id}"): ok(people.User),
    ("PATCH", "/v1/users/{user_id}"): ok(people.User),
    ("DELETE", "/v1/users/{user_id}"): ok(people.User),
    ("POST", "/v1/users/{user_id}/link"): ok(people.SignInLink),
    ("GET", "/v1/audit"): ok(Page[house.AuditLine] | house.Audit),
    ("POST", "/v1/posts"): PLANNED | {200: MADE | shapes.Previewed},
    ("GET", "/v1/posts"): ok(Page[shapes.Post]),
    ("GET", "/v1/posts/{post_id}"): ok(shapes.PostDetails),
    ("PATCH", "/v1/posts/{post_id}"): ok(shapes.ChangedPost),
    ("POST", "/v1/posts/{post_id}/publish-now"): ok(shapes.Post),
    ("POST", "/v1/posts/{post_id}/cancel"): ok(shapes.Post),
    ("POST", "/v1/posts/{post_id}/replay"): ok(shapes.Post),
    ("POST", "/v1/posts/{post_id}/resolve"): ok(shapes.Post),
    ("GET", "/v1/posts/{post_id}/explain"): ok(shapes.Explained),
    ("POST", "/v1/posts/validate"): ok(shapes.Judged),
    ("GET", "/v1/calendar"): ok(house.Calendar),
    ("POST", "/v1/drafts"): made(shapes.Draft),
    ("GET", "/v1/drafts"): ok(Page[shapes.Draft]),
    ("GET", "/v1/drafts/{draft_id}"): ok(shapes.Draft),
    ("PATCH", "/v1/drafts/{draft_id}"): ok(shapes.Draft),
    ("DELETE", "/v1/drafts/{draft_id}"): ok(shapes.Draft),
    ("POST", "/v1/drafts/{draft_id}/schedule"): PLANNED,
    ("POST", "/v1/imports"): {200: house.Import, 201: house.Import},
    ("GET", "/v1/imports/{import_id}"): ok(house.Import),
    ("GET", "/v1/contents/{content_id}"): ok(shapes.Content),
    ("GET", "/v1/accounts"): ok(Page[house.Account]),
    ("GET", "/v1/accounts/{account_id}"): ok(house.Account),
    ("POST", "/v1/accounts"): made(house.Account),
    ("POST", "/v1/accounts/{account_id}/reconnect"): ok(house.Account),
    ("POST", "/v1/accounts/{account_id}/check"): ok(house.Checked),
    ("POST", "/v1/accounts/{account_id}/pause"): ok(house.Account),
    ("POST", "/v1/accounts/{account_id}/resume"): ok(house.Account),
    ("POST", "/v1/jobs"): QUEUED,
    ("GET", "/v1/jobs"): ok(Page[jobs.Job]),
    ("GET", "/v1/jobs/{job_id}"): ok(jobs.JobDetails),
    ("GET", "/v1/jobs/{job_id}/explain"): ok(shapes.Explained),
    ("POST", "/v1/jobs/test"): ok(jobs.Evaluated),
    ("POST", "/v1/jobs/bulk"): ok(jobs.JobResults),
    ("POST", "/v1/jobs/{job_id}/cancel"): ok(jobs.Job),
    ("POST", "/v1/jobs/{job_id}/replay"): ok(jobs.Job),
    ("POST", "/v1/jobs/{job_id}/resolve"): ok(jobs.Job),
    ("POST", "/fp-publisher/v1/jobs"): QUEUED,
    ("GET", "/fp-publisher/v1/jobs"): ok(Page[jobs.Job]),
    ("POST", "/fp-publisher/v1/jobs/test"): ok(jobs.Evaluated),
    ("POST", "/fp-publisher/v1/jobs/{job_id}/replay"): ok(jobs.Job),
    ("GET", "/v1/dead-letters"): ok(Page[jobs.Letter]),
    ("GET", "/v1/dead-letters/groups"): ok(Page[jobs.Trouble]),
    ("GET", "/v1/dead-letters/{job_id}"): ok(jobs.LetterDetails),
    ("POST", "/v1/dead-letters/replay"): ok(jobs.JobResults),
    ("POST", "/v1/dead-letters/discard"): ok(jobs.LetterResults),
    ("POST", "/v1/dead-letters/{job_id}/replay"): ok(jobs.Job),
    ("POST", "/v1/dead-letters/{job_id}/discard"): ok(jobs.LetterDetails),
    ("GET", "/v1/uncertain"): ok(Page[jobs.UncertainJob]),
    ("GET", "/v1/uncertain/{job_id}"): ok(jobs.UncertainDetails),
    ("POST", "/v1/uncertain/{job_id}/look"): ok(jobs.Sight),
    ("GET", "/v1/brands"): ok(Page[house.Brand]),
    ("GET", "/v1/quotas"): ok(Page[house.Quota]),
    ("GET", "/v1/stats"): ok(house.Stats),
    ("GET", "/v1/events"): ok(EVENTS),
    ("GET", "/v1/workers"): ok(Page[house.Worker]),
    ("GET", "/v1/sandbox/published"): ok(sandbox.Record),
    ("GET", "/v1/sandbox/networks"): ok(sandbox.Networks),
    ("GET", "/v1/sandbox/calls"): ok(sandbox.Calls),
    ("GET", "/v1/sandbox/faults"): ok(sandbox.Faults),
    ("POST", "/v1/sandbox/faults"): made(sandbox.Fault),
    ("DELETE", "/v1/sandbox/faults"): ok(sandbox.Removed),
    ("DELETE", "/v1/sandbox/faults/{fault_id}"): ok(sandbox.Removed),
    ("POST", "/v1/sandbox/reset"): ok(sandbox.Epoch),
    ("POST", "/v1/simulate"): ok(simulation.Simulated),
    ("GET", "/v1/blackouts"): ok(Page[house.Blackout]),
    ("POST", "/v1/blackouts"): {200: house.AddedBlackout, 201: house.AddedBlackout},
    ("DELETE", "/v1/blackouts/{blackout_id}"): ok(house.Blackout),
    ("GET", "/v1/circuits"): ok(Page[house.Circuit]),
    ("POST", "/v1/circuits/{service}/open"): ok(house.Circuit),
    ("POST", "/v1/circuits/{service}/close"): ok(house.Circuit),
    ("POST", "/v1/circuits/{service}/reset"): ok(house.Circuit),
    ("GET", "/v1/queues"): ok(house.Queues),
    ("POST", "/v1/gates/{scope}/pause"): ok(house.Gate),
    ("POST", "/v1/gates/{scope}/resume"): ok(house.Gate),
    ("POST", "/v1/gates/{scope}/warm"): ok(house.Gate),
    ("POST", "/v1/channels/{channel}/cap"): ok(house.Cap),
    ("POST", "/v1/dispatch-due"): ok(house.Dispatched),
}
