"""Bugs that interleaved operations must find: the guards against other transactions, each taken away."""

from tests.simulator.planting import PlantedBug

CLAIMS, LANES = "stores/sql/postgres/claims.sql", "stores/sql/postgres/lanes.sql"
JOBS, SETTLEMENT = "stores/sql/postgres/jobs.sql", "stores/sql/postgres/settlement.sql"
LEDGER, HINTS = "stores/sql/postgres/ledger.sql", "stores/sql/postgres/migrations/0002_lanes.sql"

ALL = (
    PlantedBug(
        "cap counted before its lock",
        "Two claims count the running jobs at the same time, and both use the last slot.",
        "stores/operations/claims.py",
        '    locked = {row["channel"] for row in (yield ask("lock_caps", channels=capped))}\n'
        '    counted = yield ask("count_running_jobs", channels=capped)\n',
        '    counted = yield ask("count_running_jobs", channels=capped)\n'
        '    locked = {row["channel"] for row in (yield ask("lock_caps", channels=capped))}\n',
    ),
    PlantedBug(
        "cap of another claim",
        "A claim that could not lock the cap takes jobs all the same.",
        "stores/operations/claims.py",
        "caps[channel] - running if channel in locked else 0",
        "caps[channel] - running",
    ),
    PlantedBug(
        "cap after the poll",
        "A cap that was set after the poll does not hold for jobs without a lane.",
        CLAIMS,
        "SELECT 1 FROM postino.caps WHERE channel = l.channel AND coalesce(cap, default_cap) IS NOT NULL",
        "SELECT 1 FROM postino.caps WHERE false",
    ),
    PlantedBug(
        "lane hint of an update",
        "An edited or moved post is never sent: nothing tells claims to look at its lane again.",
        HINTS,
        "WHEN (NEW.lane IS NOT NULL AND NEW.state <> 'running' AND (",
        "WHEN (false AND NEW.lane IS NOT NULL AND NEW.state <> 'running' AND (",
    ),
    PlantedBug(
        "lane hint of an end",
        "The next post of an account waits for ever when the one before it ends.",
        HINTS,
        "WHEN (OLD.lane IS NOT NULL AND (OLD.state",
        "WHEN (false AND OLD.lane IS NOT NULL AND (OLD.state",
    ),
    PlantedBug(
        "lane hint of a gate",
        "A lane that a blackout has moved to next year stays there when the blackout is removed.",
        "stores/operations/blackouts.py",
        "    yield from hint_lanes(blackout.scope, blackout.name)\n"
        "    yield from insert_event(EventType.BLACKOUT_REMOVED",
        "    yield from insert_event(EventType.BLACKOUT_REMOVED",
    ),
    PlantedBug(
        "gates opened beside claims",
        "A gate is opened while a claim closes its lanes, and no hint leads to these lanes.",
        "stores/sql/shared/lanes.sql",
        "SELECT pg_advisory_xact_lock(hashtext('postino.lanes'))",
        "SELECT 1",
    ),
    PlantedBug(
        "gates before hints",
        "A claim takes hints after it has read the gates, and applies gates that are open by then.",
        "stores/operations/claims.py",
        "    hinted = (yield from read_hints()) if request.poll.hinted else []\n"
        "    if not is_single_statement(request):\n"
        "        gate_sources, now = yield from read_gate_sources()\n",
        "    if not is_single_statement(request):\n"
        "        gate_sources, now = yield from read_gate_sources()\n"
        "    hinted = (yield from read_hints()) if request.poll.hinted else []\n",
    ),
    PlantedBug(
        "hints deleted late",
        "A claim deletes hints that came after it had looked at their lanes.",
        "stores/operations/lane_hints.py",
        '    yield each("delete_hints", lanes)\n    return lanes\n\n\n'
        "def apply_hints(state: ClaimState, lanes: Sequence[Row]) -> Operation[list[ClaimSource]]:\n"
        '    """Compute when each of these lanes is next due; return that of each queue and of each type of the'
        ' worker."""\n'
        '    updated = yield each("update_lane_due", lanes, **state.make_lane_params())\n',
        "    return lanes\n\n\n"
        "def apply_hints(state: ClaimState, lanes: Sequence[Row]) -> Operation[list[ClaimSource]]:\n"
        '    updated = yield each("update_lane_due", lanes, **state.make_lane_params())\n'
        '    yield each("delete_hints", lanes)\n',
    ),
    PlantedBug(
        "events below the oldest transaction",
        "A reader of events moves past events that are committed later.",
        "stores/sql/postgres/events.sql",
        "AND xid < pg_snapshot_xmin(pg_current_snapshot())\nORDER BY xid, seq\nLIMIT :limit",
        "ORDER BY xid, seq\nLIMIT :limit",
    ),
    PlantedBug(
        "fence of a settlement",
        "A worker that was declared dead settles a job that another one runs.",
        SETTLEMENT,
        "WHERE job.id = input.id AND job.token = input.token\n    RETURNING job.*, coalesce",
        "WHERE job.id = input.id\n    RETURNING job.*, coalesce",
    ),
    PlantedBug(
        "fence of a retry",
        "A worker that was declared dead puts a job back that another one runs.",
        SETTLEMENT,
        "AND job.token IS NOT DISTINCT FROM input.token AND job.state <> 'pending'\n    RETURNING job.generation",
        "AND job.state <> 'pending'\n    RETURNING job.generation",
    ),
    PlantedBug(
        "fence of an intent",
        "A worker that was declared dead commits an intent for a job that another one runs.",
        LEDGER,
        "WHERE job.id = request.job_id AND job.token = request.token\n",
        "WHERE job.id = request.job_id AND job.state = 'running'\n",
    ),
    PlantedBug(
        "lock of a claimed job",
        "A claim takes a job that is being moved to another time.",
        CLAIMS,
        "        LIMIT input.lane_limit\n        FOR UPDATE SKIP LOCKED\n",
        "        LIMIT input.lane_limit\n",
    ),
    PlantedBug(
        "lock of a lane",
        "Two claims take two jobs of one account.",
        LANES,
        "    LIMIT input.share\n    FOR UPDATE OF lane SKIP LOCKED\n",
        "    LIMIT input.share\n",
    ),
    PlantedBug(
        "claims wait for each other",
        "A worker that is frozen in its claim keeps all others from claiming.",
        LANES,
        "    LIMIT input.share\n    FOR UPDATE OF lane SKIP LOCKED\n",
        "    LIMIT input.share\n    FOR UPDATE OF lane\n",
    ),
    PlantedBug(
        "key checked by a look",
        "Two requests with one key, neither of which sees the other, create two jobs.",
        JOBS,
        "    WHERE key IS NULL OR id IN (SELECT job_id FROM won)\n",
        "    WHERE key IS NULL OR NOT EXISTS (SELECT 1 FROM postino.idempotency_keys AS known"
        " WHERE known.channel = input.channel AND known.key = input.key)\n",
    ),
    PlantedBug(
        "pause after the claim",
        "A pause does not hold a post whose worker is about to send.",
        LEDGER,
        "WHERE gate.kind = 'pause' AND gate.until_at > :now",
        "WHERE false AND gate.kind = 'pause' AND gate.until_at > :now",
    ),
    PlantedBug(
        "pause after the poll",
        "A pause that was committed after the poll does not hold jobs without a lane.",
        CLAIMS,
        "SELECT 1 FROM postino.gates WHERE scope = 'channel' AND name = l.channel AND until_at > :now",
        "SELECT 1 FROM postino.gates WHERE false AND name = l.channel AND until_at > :now",
    ),
    PlantedBug(
        "cancel of a sent post",
        "A post that may be live can be cancelled.",
        JOBS,
        "WHERE id = :id AND NOT may_be_live AND (state = 'pending' OR state = 'running' AND type = :post)",
        "WHERE id = :id AND (state = 'pending' OR state = 'running' AND type = :post)",
    ),
    PlantedBug(
        "edit of a running job",
        "A job that runs gets another payload, although its worker has the old one.",
        "stores/sql/shared/jobs.sql",
        "SET payload = :payload WHERE id = :id AND state = 'pending' AND NOT may_be_live RETURNING id",
        "SET payload = :payload WHERE id = :id RETURNING id",
    ),
    PlantedBug(
        "lock of a receipt",
        "A receipt and an intent at the same time leave a job that its ledger contradicts.",
        "stores/operations/ledger.py",
        '    yield ask("lock_job", id=job_id)\n    rows = yield ask("get_job", id=job_id)\n',
        '    rows = yield ask("get_job", id=job_id)\n',
    ),
    PlantedBug(
        "lock of the audit trail",
        "Two entries of the audit trail follow the same one.",
        "stores/sql/shared/audit.sql",
        "SELECT pg_advisory_xact_lock(hashtext('postino.audit'))",
        "SELECT 1",
    ),
    PlantedBug(
        "lock of a quota",
        "Two calls reserve the last of a quota.",
        "stores/sql/shared/gates.sql",
        "SELECT pg_advisory_xact_lock(hashtext('postino.quota ' || :channel))",
        "SELECT :channel::text",
    ),
    PlantedBug(
        "lease of a duty",
        "Two workers do one duty at the same time.",
        "stores/sql/shared/maintenance.sql",
        "WHERE (known.held_until_at IS NULL OR known.held_until_at < :now)\n  AND (known.done_at",
        "WHERE (known.done_at",
    ),
)
BUGS = {bug.name: bug for bug in ALL}
