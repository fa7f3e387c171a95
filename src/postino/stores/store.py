"""The store: one database, as the operations that can be done to it.

Every method is one operation of `stores/operations/`, bound to the way it runs: in a transaction, as single statements,
or reading only. Parameters, results and documentation are the operation's own. The store decides nothing: decisions
come in as values, or as pure functions of `rules/`.
"""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from postino.stores import operations
from postino.stores.audit import AuditSigner
from postino.stores.binding import list_crash_points, perform, read, transact, write
from postino.stores.driver import Driver
from postino.stores.records import ClaimRequest, EnqueuedJob, NewJob, SettledJob
from postino.values.job import Job
from postino.values.post import Draft, NewPosts, ResponseRecorder, SavedPost

MAX_WAITING = 2  # transactions that wait for a key another one holds: never all connections
PRUNE_LOCK_TIMEOUT = 0.2  # seconds


class Store:
    """One database. A write is one transaction, or part of the caller's own where it takes a connection."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.audit_signer = AuditSigner()
        self.waiting_for_keys = asyncio.Semaphore(MAX_WAITING)

    async def open(self) -> None:
        await self.driver.open()

    async def close(self) -> None:
        await self.driver.close()

    async def migrate(self) -> list[str]:
        """Apply missing migrations and return their names."""
        return await self.driver.migrate()

    # Jobs

    @write()
    async def enqueue(
        self,
        jobs: Sequence[NewJob],
        *,
        lock_timeout: float | None = None,
        again: bool = False,
        once: ResponseRecorder | None = None,
    ) -> list[EnqueuedJob]:
        """Insert jobs, all or none.

        With `lock_timeout`, a key that another open transaction holds for longer raises Blocked. `again` repeats a call
        whose response was lost: jobs it may have inserted the first time are not inserted twice. With `once`, the
        response is stored with the jobs; nothing is returned if it was stored before.
        """
        if once is None and all(job.key is None for job in jobs):
            return await self.driver.perform(operations.enqueue.enqueue(jobs, again))
        work = (
            operations.enqueue.enqueue(jobs, again)
            if once is None
            else operations.enqueue.enqueue_once(jobs, again, once)
        )
        async with self.waiting_for_keys:
            return await self.driver.transact(work, lock_timeout=lock_timeout)

    async def enqueue_on(self, connection: Any, jobs: Sequence[NewJob]) -> list[EnqueuedJob]:
        """Insert jobs inside the transaction that is open on the caller's connection."""
        return await self.driver.join(connection, operations.enqueue.enqueue(jobs))

    @write(has_effect=bool)  # most polls find nothing to claim
    async def claim(self, request: ClaimRequest) -> list[Job]:
        """Claim due jobs for one worker: one winner per job, none behind a closed gate."""
        run = self.driver.perform if operations.claims.is_single_statement(request) else self.driver.transact
        return await run(operations.claims.claim(request))

    @write()
    async def settle(self, jobs: Sequence[SettledJob], *, again: bool = False) -> set[UUID]:
        """Settle jobs and return the ids of those the claim still held; the others belong to another claim by now.

        `again` repeats a call whose response was lost: jobs it settled the first time count as held.
        """
        run = self.driver.transact if operations.settle.needs_transaction(jobs) else self.driver.perform
        return await run(operations.settle.settle(jobs, again))

    @write()
    async def hint_unreachable_jobs(self) -> list[Job]:
        """Hint at the lanes of unreachable jobs, so that claims find them; return the jobs.

        The look at all lanes is a read, which SQLite limits in time, and for which no write waits.
        """
        if not await self.driver.read(operations.unreachable_jobs.list_unreachable_jobs()):
            return []
        return await self.driver.transact(operations.unreachable_jobs.hint_unreachable_jobs())

    poll = perform(operations.poll.poll)
    find_claim_candidates = transact(operations.unclaimable_jobs.find_claim_candidates)
    set_aside_job = transact(operations.unclaimable_jobs.set_aside_job)
    rescue = transact(operations.rescue.rescue)
    dispatch_due = perform(operations.jobs.dispatch_due)
    cancel_job = transact(operations.job_actions.cancel_job)
    edit_job = transact(operations.job_actions.edit_job)
    reschedule_job = transact(operations.job_actions.reschedule_job)
    resolve_job = transact(operations.job_actions.resolve_job)
    replay_dead_letter = transact(operations.dead_letters.replay_dead_letter)
    discard_dead_letter = transact(operations.dead_letters.discard_dead_letter)

    misdated_jobs = read(operations.unclaimable_jobs.list_misdated_jobs)
    check_claimable = read(operations.unclaimable_jobs.check_claimable)
    job = read(operations.jobs.get_job)
    job_by_key = read(operations.jobs.find_job_by_key)
    jobs = read(operations.jobs.list_jobs)
    jobs_page = read(operations.jobs.get_jobs_page)
    attempts = read(operations.jobs.list_attempts)
    dead_letter = read(operations.dead_letters.get_dead_letter)
    dead_letters = read(operations.dead_letters.list_dead_letters)
    waiting_types = read(operations.jobs.list_waiting_types)
    jobs_by_worker = read(operations.jobs.count_jobs_by_worker)
    queue_depths = read(operations.jobs.list_queue_depths)
    explain_input = read(operations.explain.read_explain_input)
    has_collision = read(operations.jobs.has_collision)
    forecast_input = read(operations.forecast.read_forecast_input)
    load_forecast = transact(operations.forecast.load_forecast)
    unreachable_jobs = read(operations.unreachable_jobs.list_unreachable_jobs)

    # The ledger

    ledger = read(operations.ledger.get_ledger)
    save_step = perform(operations.ledger.save_step)
    forget_step = perform(operations.ledger.forget_step)
    extend_deadline = perform(operations.ledger.extend_deadline)
    record_intents = perform(operations.ledger.record_intents)
    record_receipt = transact(operations.ledger.record_receipt)
    remote_ids_of_others = read(operations.ledger.find_remote_ids_of_others)

    # Workers and duties

    register_worker = perform(operations.workers.register_worker)
    heartbeat = perform(operations.workers.record_heartbeat)
    unregister_worker = perform(operations.workers.unregister_worker)
    report_trouble = perform(operations.workers.report_trouble)
    mark_suspect = perform(operations.workers.mark_suspect)
    workers = read(operations.workers.list_workers)
    take_duty = perform(operations.maintenance.take_duty)
    finish_duty = perform(operations.maintenance.finish_duty)
    prune = transact(operations.maintenance.prune, lock_timeout=PRUNE_LOCK_TIMEOUT)

    # Which database this is

    database_state = read(operations.database.read_database_state)
    eras = read(operations.database.list_eras)
    schema_time = read(operations.database.read_schema_time)
    adopt_database = perform(operations.database.adopt_database)
    register_witness = transact(operations.database.register_witness)
    record_pulse = perform(operations.database.record_pulse)
    call_roll = transact(operations.database.call_roll)
    sign_roll = perform(operations.database.sign_roll)
    end_roll_call = transact(operations.database.end_roll_call)
    ask_person = transact(operations.database.ask_person)
    reopen_database = transact(operations.database.reopen_database)
    enter_lost_intents = transact(operations.database.enter_lost_intents)
    accept_database = transact(operations.database.accept_database)

    # Gates

    pause = transact(operations.gates.pause_scope)
    resume = transact(operations.gates.resume_scope)
    set_cap = transact(operations.gates.set_cap)
    write_settings = transact(operations.settings.write_settings)
    start_cooldown = transact(operations.gates.start_cooldown)
    end_cooldown = transact(operations.gates.end_cooldown)
    record_response = transact(operations.circuits.record_response)
    half_open_circuits = transact(operations.circuits.half_open_circuits)
    open_circuit = transact(operations.circuits.open_circuit)
    close_circuit = transact(operations.circuits.close_circuit)
    reset_circuit = transact(operations.circuits.reset_circuit)
    add_blackout = transact(operations.blackouts.add_blackout)
    remove_blackout = transact(operations.blackouts.remove_blackout)
    reserve_quota = transact(operations.quotas.reserve_quota)
    release_quota = perform(operations.quotas.release_quota)

    settings = read(operations.settings.read_settings)
    circuits = read(operations.circuits.list_circuits)
    circuit = read(operations.circuits.read_circuit)
    account_circuits = read(operations.circuits.list_account_circuits)
    service_circuits = read(operations.circuits.list_service_circuits)
    has_service = read(operations.circuits.has_service)
    blackouts = read(operations.blackouts.list_blackouts)
    gates = read(operations.gates.list_gates)
    gates_for = read(operations.gates.list_gates_for)
    gate_sources = read(operations.gates.read_gate_sources)
    find_blocking_gate = read(operations.gates.find_blocking_gate)

    # Posts and what belongs to them

    @write()
    async def create_posts(
        self, requests: Sequence[NewPosts], *, again: bool = False, lock_timeout: float | None = None
    ) -> list[list[SavedPost]]:
        """Insert contents, posts, jobs, keys and stored responses, all or none; return the posts that have the keys.

        Raises Conflict where a guarded post has a duplicate, or a caller's key was used for another request. Nothing is
        inserted and nothing returned for a request that was answered before.
        """
        async with self.waiting_for_keys:
            return await self.driver.transact(operations.posts.create_posts(requests, again), lock_timeout=lock_timeout)

    @write()
    async def add_draft(self, draft: Draft, *, once: ResponseRecorder | None = None) -> Draft | None:
        """Insert a draft; return None if the request already has a stored response."""
        async with self.waiting_for_keys:
            return await self.driver.transact(operations.drafts.add_draft(draft, once=once))

    edit_post = transact(operations.post_actions.edit_post)
    reschedule_post = transact(operations.post_actions.reschedule_post)
    publish_post_now = transact(operations.post_actions.publish_post_now)
    fail_missed_posts = transact(operations.maintenance.fail_missed_posts)
    add_account = transact(operations.accounts.add_account)
    save_account = transact(operations.accounts.save_account)
    set_account_state = transact(operations.accounts.set_account_state)
    change_draft = transact(operations.drafts.change_draft)
    remove_draft = transact(operations.drafts.remove_draft)
    save_import = transact(operations.imports.save_import)
    save_import_rows = transact(operations.imports.save_import_rows)
    finish_import = transact(operations.imports.finish_import)

    stored_response = read(operations.stored_responses.find_response)
    stored_responses = read(operations.stored_responses.find_responses)
    account = read(operations.accounts.get_account)
    accounts = read(operations.accounts.list_accounts)
    locked_accounts = read(operations.accounts.list_locked_accounts)
    accounts_by_id = read(operations.accounts.find_accounts)
    draft = read(operations.drafts.get_draft)
    drafts = read(operations.drafts.list_drafts)
    import_by_id = read(operations.imports.get_import)
    import_by_token = read(operations.imports.find_import_by_token)
    post = read(operations.posts.get_post)
    posts = read(operations.post_lists.list_posts)
    posts_page = read(operations.post_lists.get_posts_page)
    calendar = read(operations.calendar.read_calendar)

    # Authentication and audit

    add_api_key = transact(operations.api_keys.add_api_key)
    remove_api_key = transact(operations.api_keys.remove_api_key)
    touch_api_key = perform(operations.api_keys.touch_api_key)
    add_user = transact(operations.users.add_user)
    change_user = transact(operations.users.change_user)
    remove_user = transact(operations.users.remove_user)
    update_password_hash = perform(operations.users.update_password_hash)
    begin_login = transact(operations.sessions.begin_login)
    forgive_login = transact(operations.sessions.forgive_login)
    start_session = transact(operations.sessions.start_session)
    touch_session = perform(operations.sessions.touch_session)
    end_session = transact(operations.sessions.end_session)
    add_sign_in_link = transact(operations.sessions.add_sign_in_link)
    use_sign_in_link = transact(operations.sessions.use_sign_in_link)

    add_vault_keys = transact(operations.vault_keys.add_vault_keys)
    replace_vault_keys = transact(operations.vault_keys.replace_vault_keys)

    vault_keys = read(operations.vault_keys.list_vault_keys)
    api_keys = read(operations.api_keys.list_api_keys)
    api_keys_by_prefix = read(operations.api_keys.find_api_keys_by_prefix)
    user = read(operations.users.get_user)
    user_by_name = read(operations.users.find_user_by_name)
    users = read(operations.users.list_users)
    session = read(operations.sessions.find_session)
    sign_in_link = read(operations.sessions.find_sign_in_link)
    audit = read(operations.audit.list_audit_entries)
    audit_page = read(operations.audit.list_audit_page)
    audit_after = read(operations.audit.list_audit_after)

    # Events and statistics

    events = read(operations.events.list_events)
    event_delay = read(operations.events.find_event_delay)
    last_event = read(operations.events.find_last_event)
    lease_cursor = perform(operations.events.lease_cursor)
    move_cursor = perform(operations.events.move_cursor)
    now = read(operations.stats.read_clock)
    finished_posts = read(operations.stats.list_finished_posts)
    brands = read(operations.stats.list_brands)
    brand_counts = read(operations.stats.count_posts_by_brand)
    brands_by_job = read(operations.stats.list_brands_by_job)
    error_groups = read(operations.stats.list_error_groups)
    quota_usage = read(operations.quotas.read_quota_usage)


CRASH_POINTS = list_crash_points(Store)
