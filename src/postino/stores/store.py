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
from postino.stores.binding import list_crash_points, perform, read, transact, write
from postino.stores.driver import Driver
from postino.stores.records import ClaimOrder, Ending, Enqueued, NewJob
from postino.values.job import Job
from postino.values.post import Draft, NewPosts, Once, Written

MOST_WAITING = 2  # transactions that wait for a key somebody else holds: never all connections
PRUNE_PATIENCE = 0.2


class Store:
    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.waiting_for_keys = asyncio.Semaphore(MOST_WAITING)

    async def open(self) -> None:
        await self.driver.open()

    async def close(self) -> None:
        await self.driver.close()

    async def migrate(self) -> list[str]:
        """Apply missing migrations and return their names."""
        return await self.driver.migrate()

    # Jobs

    @write
    async def enqueue(
        self,
        jobs: Sequence[NewJob],
        *,
        patience: float | None = None,
        again: bool = False,
        once: Once | None = None,
    ) -> list[Enqueued]:
        """Insert jobs, all or none.

        With `patience`, a key that another open transaction holds for longer raises Blocked. `again` repeats a call
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
            return await self.driver.transact(work, patience=patience)

    async def enqueue_on(self, connection: Any, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Insert jobs inside the transaction that is open on the caller's connection."""
        return await self.driver.join(connection, operations.enqueue.enqueue(jobs))

    @write
    async def claim(self, order: ClaimOrder) -> list[Job]:
        """Claim due jobs for one worker: one winner per job, none behind a closed gate."""
        run = self.driver.perform if operations.claim.stands_alone(order) else self.driver.transact
        return await run(operations.claim.claim(order))

    @write
    async def settle(self, endings: Sequence[Ending], *, again: bool = False) -> set[UUID]:
        """Write how jobs ended and return the ids of those the claim still held.

        `again` repeats a call whose response was lost: jobs it settled the first time count as held.
        """
        # Each statement is atomic for its jobs; with several kinds, a failing one must not leave another written.
        mixed = sum(map(bool, operations.settle.by_kind(endings))) > 1
        run = self.driver.transact if mixed else self.driver.perform
        return await run(operations.settle.settle(endings, again))

    survey = perform(operations.claim.survey)
    rescue = transact(operations.settle.rescue)
    dispatch_due = perform(operations.reading.dispatch_due)
    cancel = transact(operations.byhand.cancel)
    edit = transact(operations.byhand.edit)
    reschedule = transact(operations.byhand.reschedule)
    resolve = transact(operations.byhand.resolve)
    replay = transact(operations.byhand.replay)
    discard = transact(operations.byhand.discard)

    job = read(operations.byhand.get)
    job_by_key = read(operations.reading.find)
    jobs = read(operations.reading.list_jobs)
    jobs_page = read(operations.reading.page_of_jobs)
    attempts = read(operations.reading.attempts)
    dead_letter = read(operations.reading.dead_letter)
    dead_letters = read(operations.reading.dead_letters)
    queue_depths = read(operations.reading.depths)
    circumstances = read(operations.reading.circumstances)
    has_collision = read(operations.reading.collides)
    forecast_input = read(operations.rehearsing.outlook)
    load_forecast = transact(operations.rehearsing.adopt)

    # The ledger

    ledger = read(operations.ledger.ledger)
    save_step = perform(operations.ledger.remember)
    forget_step = perform(operations.ledger.forget)
    record_intents = perform(operations.ledger.intend)
    record_receipt = transact(operations.ledger.note)
    remote_ids_of_others = read(operations.ledger.held_by_others)

    # Workers and duties

    register_worker = perform(operations.reading.register)
    heartbeat = perform(operations.reading.beat)
    unregister_worker = perform(operations.reading.retire)
    mark_suspect = perform(operations.reading.suspect)
    workers = read(operations.reading.workers)
    take_duty = perform(operations.upkeep.take_duty)
    finish_duty = perform(operations.upkeep.finish_duty)
    prune = transact(operations.upkeep.prune, patience=PRUNE_PATIENCE)
    record_alive = perform(operations.upkeep.pulse)

    @write
    async def detect_restore(self, *, after_outage: bool = False) -> list[Job]:
        """Compare the database with where it was last seen, and return the posts held because it may be a copy.

        After an outage that this process has seen, silence is no sign of a restore.
        """
        identity = await self.driver.surroundings()
        return await self.driver.transact(operations.upkeep.awaken(identity, after_outage))

    # Gates

    pause = transact(operations.gates.pause)
    resume = transact(operations.gates.resume)
    set_cap = transact(operations.gates.cap)
    set_default_caps = perform(operations.gates.usual_caps)
    start_cooldown = transact(operations.gates.cool)
    end_cooldown = transact(operations.gates.warm)
    record_response = transact(operations.gates.answered)
    half_open = transact(operations.gates.half_open)
    open_circuit = transact(operations.gates.open_circuit)
    close_circuit = transact(operations.gates.close_circuit)
    reset_circuit = transact(operations.gates.reset_circuit)
    add_blackout = transact(operations.gates.add_blackout)
    remove_blackout = transact(operations.gates.remove_blackout)
    set_configured_blackouts = transact(operations.gates.usual_blackouts)
    reserve_quota = transact(operations.quotas.spend)
    release_quota = perform(operations.quotas.unspend)

    circuits = read(operations.gates.circuits)
    blackouts = read(operations.gates.blackouts)
    gates = read(operations.gates.gates)
    gates_for = read(operations.gates.gates_of)
    known_gates = read(operations.gates.known_gates)

    # Posts and what belongs to them

    @write
    async def create_posts(
        self, wanted: Sequence[NewPosts], *, again: bool = False, patience: float | None = None
    ) -> list[list[Written]]:
        """Insert contents, posts, jobs, keys and stored responses, all or none; return the posts that have the keys.

        Raises Conflict where a guarded post has a duplicate, or a caller's key was used for another request. Nothing is
        inserted and nothing returned for a request that was answered before.
        """
        async with self.waiting_for_keys:
            return await self.driver.transact(operations.posts.create(wanted, again), patience=patience)

    @write
    async def add_draft(self, draft: Draft, *, once: Once | None = None) -> Draft | None:
        """Insert a draft; return None where the request was answered before."""
        async with self.waiting_for_keys:
            return await self.driver.transact(operations.drafts.add(draft, once=once))

    edit_post = transact(operations.posts.edit)
    reschedule_post = transact(operations.posts.reschedule)
    publish_post_now = transact(operations.posts.hurry)
    fail_missed_posts = transact(operations.posts.miss)
    add_account = transact(operations.connecting.add)
    save_account = transact(operations.connecting.put)
    set_account_state = transact(operations.posts.mark_account)
    change_draft = transact(operations.drafts.change)
    remove_draft = transact(operations.drafts.remove)
    save_import = transact(operations.imports.put)
    save_import_rows = transact(operations.imports.save)
    finish_import = transact(operations.imports.finish)

    stored_response = read(operations.answers.known)
    stored_responses = read(operations.answers.given)
    account = read(operations.posts.account)
    accounts = read(operations.posts.accounts)
    accounts_by_id = read(operations.posts.accounts_named)
    draft = read(operations.drafts.get)
    drafts = read(operations.drafts.list_drafts)
    import_by_id = read(operations.imports.get)
    import_by_token = read(operations.imports.by_token)
    post = read(operations.listing.get)
    posts = read(operations.listing.all_posts)
    posts_page = read(operations.listing.page)
    calendar = read(operations.listing.calendar)

    # Authentication and audit

    add_api_key = transact(operations.people.add_api_key)
    remove_api_key = transact(operations.people.remove_api_key)
    touch_api_key = perform(operations.people.use_api_key)
    add_user = transact(operations.people.add_user)
    change_user = transact(operations.people.change_user)
    remove_user = transact(operations.people.remove_user)
    update_password_hash = perform(operations.people.renew_password)
    begin_login = transact(operations.people.begin_login)
    forgive_login = transact(operations.people.forgive_login)
    start_session = transact(operations.people.start_session)
    touch_session = perform(operations.people.see_session)
    end_session = transact(operations.people.end_session)
    add_sign_in_link = transact(operations.people.add_sign_in)
    use_sign_in_link = transact(operations.people.take_sign_in)

    api_keys = read(operations.people.api_keys)
    api_keys_by_prefix = read(operations.people.api_keys_like)
    user = read(operations.people.user)
    user_by_name = read(operations.people.user_named)
    users = read(operations.people.users)
    session = read(operations.people.session)
    sign_in_link = read(operations.people.sign_in)
    audit = read(operations.reading.audit)
    audit_page = read(operations.people.audit_page)
    audit_after = read(operations.people.audit_after)

    # Events and statistics

    events = read(operations.reading.events)
    last_event = read(operations.stats.last_event)
    lease_cursor = perform(operations.reading.hold_cursor)
    move_cursor = perform(operations.reading.move_cursor)
    now = read(operations.stats.clock)
    finished_posts = read(operations.stats.ended)
    brands = read(operations.stats.brands)
    brand_counts = read(operations.stats.brand_counts)
    brands_by_job = read(operations.stats.brands_of)
    error_groups = read(operations.stats.troubles)
    quota_usage = read(operations.stats.spent)


CRASH_POINTS = list_crash_points(Store)
