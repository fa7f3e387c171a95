"""What each route answers when all goes well: one row for each, in the shapes that the client has."""

from collections.abc import Mapping
from typing import Any

from postino.client.types.accounts import AccountCheckView, AccountView, BrandView, QuotaView
from postino.client.types.audit import AuditEntryView, VerifiedAuditView
from postino.client.types.auth import ApiKeyView, CallerView, CreatedApiKeyView, SessionView, SignInLinkView, UserView
from postino.client.types.calendar import CalendarView
from postino.client.types.common import Page
from postino.client.types.dead_letters import (
    BulkDeadLetterResultView,
    DeadLetterDetailsView,
    DeadLetterGroupView,
    DeadLetterView,
)
from postino.client.types.drafts import DraftView
from postino.client.types.explain import ExplanationView
from postino.client.types.forecast import ForecastView
from postino.client.types.gates import (
    BlackoutView,
    ChannelCapView,
    CircuitView,
    CreatedBlackoutView,
    DispatchResultView,
    GateView,
    QueuesView,
)
from postino.client.types.imports import ImportView
from postino.client.types.jobs import (
    BulkJobResultView,
    JobDetailsView,
    JobEvaluationView,
    JobPreviewView,
    JobView,
    QueuedJobView,
)
from postino.client.types.posts import (
    ContentView,
    CreatedPostsView,
    CreatedPostView,
    EditedPostView,
    PostDetailsView,
    PostView,
    PreviewResultView,
    ValidationResultView,
)
from postino.client.types.sandbox import (
    FaultsView,
    FaultView,
    RemovedFaultsView,
    SandboxCallsView,
    SandboxEpochView,
    SandboxNetworksView,
    SandboxPostsView,
)
from postino.client.types.stats import StatsView
from postino.client.types.uncertain import LookupResultView, UncertainJobDetailsView, UncertainJobView
from postino.client.types.workers import HealthView, WorkerView

Shapes = Mapping[int, Any]  # by status; None: there is no body
EVENTS = "text/event-stream"


def ok(shape: Any) -> Shapes:
    return {200: shape}


def made(shape: Any) -> Shapes:
    return {201: shape}


QUEUED = {200: QueuedJobView | JobPreviewView, 201: QueuedJobView}
MADE = CreatedPostsView | CreatedPostView
PLANNED = {200: MADE, 201: MADE, 202: MADE}

ANSWERS: Mapping[tuple[str, str], Shapes] = {
    ("GET", "/health/live"): ok(HealthView),
    ("GET", "/health/ready"): ok(HealthView),
    ("POST", "/v1/login"): ok(SessionView),
    ("GET", "/v1/me"): ok(CallerView),
    ("POST", "/v1/logout"): {204: None},
    ("GET", "/v1/api-keys"): ok(Page[ApiKeyView]),
    ("POST", "/v1/api-keys"): made(CreatedApiKeyView),
    ("DELETE", "/v1/api-keys/{key_id}"): ok(ApiKeyView),
    ("GET", "/v1/users"): ok(Page[UserView]),
    ("POST", "/v1/users"): made(UserView),
    ("GET", "/v1/users/{user_id}"): ok(UserView),
    ("PATCH", "/v1/users/{user_id}"): ok(UserView),
    ("DELETE", "/v1/users/{user_id}"): ok(UserView),
    ("POST", "/v1/users/{user_id}/link"): ok(SignInLinkView),
    ("GET", "/v1/audit"): ok(Page[AuditEntryView] | VerifiedAuditView),
    ("POST", "/v1/posts"): PLANNED | {200: MADE | PreviewResultView},
    ("GET", "/v1/posts"): ok(Page[PostView]),
    ("GET", "/v1/posts/{post_id}"): ok(PostDetailsView),
    ("PATCH", "/v1/posts/{post_id}"): ok(EditedPostView),
    ("POST", "/v1/posts/{post_id}/publish-now"): ok(PostView),
    ("POST", "/v1/posts/{post_id}/cancel"): ok(PostView),
    ("POST", "/v1/posts/{post_id}/replay"): ok(PostView),
    ("POST", "/v1/posts/{post_id}/resolve"): ok(PostView),
    ("GET", "/v1/posts/{post_id}/explain"): ok(ExplanationView),
    ("POST", "/v1/posts/validate"): ok(ValidationResultView),
    ("GET", "/v1/calendar"): ok(CalendarView),
    ("POST", "/v1/drafts"): made(DraftView),
    ("GET", "/v1/drafts"): ok(Page[DraftView]),
    ("GET", "/v1/drafts/{draft_id}"): ok(DraftView),
    ("PATCH", "/v1/drafts/{draft_id}"): ok(DraftView),
    ("DELETE", "/v1/drafts/{draft_id}"): ok(DraftView),
    ("POST", "/v1/drafts/{draft_id}/schedule"): PLANNED,
    ("POST", "/v1/imports"): {200: ImportView, 201: ImportView},
    ("GET", "/v1/imports/{import_id}"): ok(ImportView),
    ("GET", "/v1/contents/{content_id}"): ok(ContentView),
    ("GET", "/v1/accounts"): ok(Page[AccountView]),
    ("GET", "/v1/accounts/{account_id}"): ok(AccountView),
    ("POST", "/v1/accounts"): made(AccountView),
    ("POST", "/v1/accounts/{account_id}/reconnect"): ok(AccountView),
    ("POST", "/v1/accounts/{account_id}/check"): ok(AccountCheckView),
    ("POST", "/v1/accounts/{account_id}/pause"): ok(AccountView),
    ("POST", "/v1/accounts/{account_id}/resume"): ok(AccountView),
    ("POST", "/v1/jobs"): QUEUED,
    ("GET", "/v1/jobs"): ok(Page[JobView]),
    ("GET", "/v1/jobs/{job_id}"): ok(JobDetailsView),
    ("GET", "/v1/jobs/{job_id}/explain"): ok(ExplanationView),
    ("POST", "/v1/jobs/test"): ok(JobEvaluationView),
    ("POST", "/v1/jobs/bulk"): ok(BulkJobResultView),
    ("POST", "/v1/jobs/{job_id}/cancel"): ok(JobView),
    ("POST", "/v1/jobs/{job_id}/replay"): ok(JobView),
    ("POST", "/v1/jobs/{job_id}/resolve"): ok(JobView),
    ("POST", "/fp-publisher/v1/jobs"): QUEUED,
    ("GET", "/fp-publisher/v1/jobs"): ok(Page[JobView]),
    ("POST", "/fp-publisher/v1/jobs/test"): ok(JobEvaluationView),
    ("POST", "/fp-publisher/v1/jobs/{job_id}/replay"): ok(JobView),
    ("GET", "/v1/dead-letters"): ok(Page[DeadLetterView]),
    ("GET", "/v1/dead-letters/groups"): ok(Page[DeadLetterGroupView]),
    ("GET", "/v1/dead-letters/{job_id}"): ok(DeadLetterDetailsView),
    ("POST", "/v1/dead-letters/replay"): ok(BulkJobResultView),
    ("POST", "/v1/dead-letters/discard"): ok(BulkDeadLetterResultView),
    ("POST", "/v1/dead-letters/{job_id}/replay"): ok(JobView),
    ("POST", "/v1/dead-letters/{job_id}/discard"): ok(DeadLetterDetailsView),
    ("GET", "/v1/uncertain"): ok(Page[UncertainJobView]),
    ("GET", "/v1/uncertain/{job_id}"): ok(UncertainJobDetailsView),
    ("POST", "/v1/uncertain/{job_id}/look"): ok(LookupResultView),
    ("GET", "/v1/brands"): ok(Page[BrandView]),
    ("GET", "/v1/quotas"): ok(Page[QuotaView]),
    ("GET", "/v1/stats"): ok(StatsView),
    ("GET", "/v1/events"): ok(EVENTS),
    ("GET", "/v1/workers"): ok(Page[WorkerView]),
    ("GET", "/v1/sandbox/published"): ok(SandboxPostsView),
    ("GET", "/v1/sandbox/networks"): ok(SandboxNetworksView),
    ("GET", "/v1/sandbox/calls"): ok(SandboxCallsView),
    ("GET", "/v1/sandbox/faults"): ok(FaultsView),
    ("POST", "/v1/sandbox/faults"): made(FaultView),
    ("DELETE", "/v1/sandbox/faults"): ok(RemovedFaultsView),
    ("DELETE", "/v1/sandbox/faults/{fault_id}"): ok(RemovedFaultsView),
    ("POST", "/v1/sandbox/reset"): ok(SandboxEpochView),
    ("POST", "/v1/simulate"): ok(ForecastView),
    ("GET", "/v1/blackouts"): ok(Page[BlackoutView]),
    ("POST", "/v1/blackouts"): {200: CreatedBlackoutView, 201: CreatedBlackoutView},
    ("DELETE", "/v1/blackouts/{blackout_id}"): ok(BlackoutView),
    ("GET", "/v1/circuits"): ok(Page[CircuitView]),
    ("POST", "/v1/circuits/{service}/open"): ok(CircuitView),
    ("POST", "/v1/circuits/{service}/close"): ok(CircuitView),
    ("POST", "/v1/circuits/{service}/reset"): ok(CircuitView),
    ("GET", "/v1/queues"): ok(QueuesView),
    ("POST", "/v1/gates/{scope}/pause"): ok(GateView),
    ("POST", "/v1/gates/{scope}/resume"): ok(GateView),
    ("POST", "/v1/gates/{scope}/warm"): ok(GateView),
    ("POST", "/v1/channels/{channel}/cap"): ok(ChannelCapView),
    ("POST", "/v1/dispatch-due"): ok(DispatchResultView),
}
