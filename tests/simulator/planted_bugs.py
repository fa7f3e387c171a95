"""Bugs that a simulation must find: earlier defects of Postino, and the guards of its promises, each taken away.

Guards that another guard covers are not here, because no life can show that one of them is missing: an expired lease
(the time of an intent ends first), the token of an intent (its worker's lease has expired), a rescue that forgets what
was sent (the ledger remembers it), and the owner of a remote id (lookups pass over ids of others).
"""

from tests.simulator.planting import PlantedBug

LEDGER = "stores/sql/sqlite/ledger.sql"
LANES = "stores/sql/sqlite/migrations/0002_lanes.sql"

ALL = (
    PlantedBug(
        "lane hint of an update",
        "An edited or moved post is never sent: nothing tells claims to look at its lane again.",
        LANES,
        "WHEN NEW.lane IS NOT NULL AND NEW.state <> 'running' AND (\n    NEW.state, NEW.run_at",
        "WHEN 0 AND NEW.lane IS NOT NULL AND NEW.state <> 'running' AND (\n    NEW.state, NEW.run_at",
    ),
    PlantedBug(
        "lane hint of an end",
        "The next post of an account waits for ever when the one before it ends.",
        LANES,
        "WHEN OLD.lane IS NOT NULL AND (OLD.state <> 'running' OR OLD.account IS NOT NULL)",
        "WHEN 0 AND OLD.lane IS NOT NULL AND (OLD.state <> 'running' OR OLD.account IS NOT NULL)",
    ),
    PlantedBug(
        "pause of an intent",
        "A pause does not hold a post whose worker is about to send.",
        LEDGER,
        "WHERE gate.kind = 'pause' AND gate.until_at > :now AND (gate.scope, gate.name) IN (VALUES",
        "WHERE 0 AND gate.kind = 'pause' AND gate.until_at > :now AND (gate.scope, gate.name) IN (VALUES",
    ),
    PlantedBug(
        "late sends",
        "A frozen worker sends long after its intent, when others have looked the post up already.",
        "engine/call.py",
        "if until is not None and self._context.uptime() > until:",
        "if False and until is not None and self._context.uptime() > until:",
    ),
    PlantedBug(
        "send window after the intent",
        "The time in which a worker may send counts from after the commit of its intent.",
        "engine/call.py",
        "        lookup_at = intent.lookup_at if can_recover else None\n",
        "        lookup_at = intent.lookup_at if can_recover else None\n"
        "        send_until = self._context.uptime() + policy.send_within.total_seconds()\n",
    ),
    PlantedBug(
        "skipped quarantine",
        "A post is looked up while its request may still arrive, and then sent again.",
        "engine/call.py",
        "lookup_delay=(policy.timeout + policy.listing_delay).total_seconds(),",
        "lookup_delay=0.0,",
    ),
    PlantedBug(
        "intent after the send",
        "The intent of a call is forgotten, as if it were written after the call.",
        "rules/ledger.py",
        "    if not still_open:\n        return ReadyToSend(number)\n",
        "    if not still_open or number == 2:\n        return ReadyToSend(number)\n",
    ),
    PlantedBug(
        "not found means not there",
        "A post that a list does not show is sent again on networks that do not recognise a repetition.",
        "rules/ledger.py",
        "        case NotFound():\n            return LookUpAgain(",
        "        case NotFound():\n            return SendAgain()\n            return LookUpAgain(",
    ),
    PlantedBug(
        "refusal of any error",
        "An error that does not say whether the post was published counts as a refusal.",
        "engine/call.py",
        "            case Failure() if is_definite_refusal(result) and not http.may_have_published_earlier:",
        "            case Failure():",
    ),
    PlantedBug(
        "lost response as not sent",
        "A call without a response is repeated.",
        "engine/call.py",
        "        except Exception as error:\n            # Whatever it is, the request may have left.\n",
        "        except LostResponse as error:\n            await self._refuse(intent, str(error))\n"
        "            raise StopRun(self._retry_later(error)) from error\n        except Exception as error:\n",
    ),
    PlantedBug(
        "witness count of an intent",
        "A worker sends from a database that lacks an intent of its own.",
        LEDGER,
        "WHERE id = :witness AND lost_from IS NULL AND (n = :n OR (n = :n + 1 AND mark = :mark))",
        "WHERE id = :witness AND lost_from IS NULL",
    ),
    PlantedBug(
        "restored database",
        "A worker vouches for a database that lacks what it remembers.",
        "rules/restore.py",
        "    if knowledge is Knowledge.BEHIND:\n",
        "    if False:\n",
    ),
    PlantedBug(
        "same key twice",
        "A key that is known creates a second job.",
        "publishing/post_builder.py",
        "    if request.key is not None:\n        return make_job_key(request.key, account.id)\n",
        "    if request.key is not None:\n        return make_job_key(request.key + str(new_id()), account.id)\n",
    ),
    PlantedBug(
        "second click",
        "The guard against a second click does not count posts that wait.",
        "stores/sql/sqlite/posts.sql",
        "WHERE phase = 'live' AND account = :account AND fingerprint = :fingerprint\n",
        "WHERE 0 AND account = :account AND fingerprint = :fingerprint\n",
    ),
    PlantedBug(
        "cancel of a sent post",
        "A post that may be live can be cancelled.",
        "stores/sql/sqlite/jobs.sql",
        "WHERE id = :id AND NOT may_be_live AND (state = 'pending' OR state = 'running' AND type = :post);\n"
        "DELETE FROM postino.jobs\nWHERE id = :id AND NOT may_be_live AND (state = 'pending' OR",
        "WHERE id = :id AND (state = 'pending' OR state = 'running' AND type = :post);\n"
        "DELETE FROM postino.jobs\nWHERE id = :id AND (state = 'pending' OR",
    ),
    PlantedBug(
        "events before they are delivered",
        "A listener's place moves past events that it has not heard yet.",
        "engine/relay.py",
        "        delivered, moved_at = cursor, self.monotonic()\n",
        "        delivered, moved_at = cursor, self.monotonic()\n"
        "        if events:\n            await self.move_cursor(events[-1].cursor)\n",
    ),
    PlantedBug(
        "suspended account",
        "Each post of an account that its network has suspended becomes a dead letter.",
        "providers/telegram.py",
        '        FailureKind.SUSPENDED,\n        "The bot was blocked or removed',
        '        FailureKind.PERMANENT,\n        "The bot was blocked or removed',
    ),
    PlantedBug(
        "server that ignores the key",
        "A post is sent again to a server that speaks Mastodon's API and ignores the idempotency key.",
        "providers/mastodon.py",
        "            if software.honours_key():\n",
        "            if True:\n",
    ),
    PlantedBug(
        "place of a restored file",
        "A worker sends into a file that was put back a moment ago, before all workers have compared it.",
        "rules/restore.py",
        "        if place is not Place.SAME:\n            return Decision.CALL_ROLL\n",
        "        if False:\n            return Decision.CALL_ROLL\n",
    ),
    PlantedBug(
        "edit of a sent job",
        "A post that may be live can get another text.",
        "stores/sql/shared/jobs.sql",
        "SET payload = :payload WHERE id = :id AND state = 'pending' AND NOT may_be_live RETURNING id",
        "SET payload = :payload WHERE id = :id RETURNING id",
    ),
    PlantedBug(
        "copied database",
        "A worker on a copy of the database joins it, and publishes what the original publishes, too.",
        "rules/restore.py",
        "    if place is Place.OTHER:\n        return Decision.WAIT if",
        "    if place is Place.OTHER and state.standing is Standing.OPEN:\n        return Decision.JOIN\n"
        "    if place is Place.OTHER:\n        return Decision.WAIT if",
    ),
    PlantedBug(
        "memory of former processes",
        "A process that starts does not read what former processes of its machine remember.",
        "engine/witness.py",
        "        self.others = await self.storage.open(installation)\n",
        "        await self.storage.open(installation)\n",
    ),
    PlantedBug(
        "ids of another chat",
        "Message ids begin anew in another chat, and count as those of earlier posts.",
        "stores/operations/ledger.py",
        "remote_id=receipt.remote_id, response_scope=scope,",
        'remote_id=receipt.remote_id, response_scope="",',
    ),
    PlantedBug(
        "settings of one worker",
        "A worker that starts with other settings changes them for all.",
        "engine/stored_settings.py",
        "    stored = await store.settings()\n",
        '    await store_settings(store, limits, "worker")\n    stored = await store.settings()\n',
    ),
    PlantedBug(
        "doubled cooldown",
        "A rate limit that names its end doubles the wait, as one without an end does.",
        "rules/cooldown.py",
        "    if requested is not None:\n        return requested, earlier\n",
        "    if requested is not None:\n"
        "        return max(requested, now + _compute_default_wait(earlier + 1)), earlier + 1\n",
    ),
    PlantedBug(
        "expired token of before",
        "A refusal of old credentials marks an account that a person has reconnected since.",
        "publishing/accounts.py",
        "held = await self.store.set_account_state(account.id, state, reason, act, version=account.version)",
        "held = await self.store.set_account_state(account.id, state, reason, act)",
    ),
    PlantedBug(
        "fence of a settlement",
        "A worker that has lost its job puts it back into the queue.",
        "stores/sql/sqlite/settlement.sql",
        "WHERE id = :id AND token IS :token AND state <> 'pending'\nRETURNING id",
        "WHERE id = :id AND state <> 'pending'\nRETURNING id",
    ),
    PlantedBug(
        "quota of a lost response",
        "A quota is given back although the post may be live.",
        "engine/call.py",
        '            reason = http.redact(f"No readable response came back: {error}")\n',
        '            reason = http.redact(f"No readable response came back: {error}")\n'
        "            await self._context.quotas.release(self.job, name, number)\n",
    ),
    PlantedBug(
        "key after the insert",
        "A key is stored and compared with no other before its job is inserted.",
        "stores/sql/sqlite/jobs.sql",
        "WHERE :key IS NULL OR changes() = 1\n",
        "WHERE TRUE\n",
    ),
    PlantedBug(
        "lane hint of an open gate",
        "The posts of an account stay behind a pause that has ended.",
        "stores/operations/gates.py",
        "name=name, kind=kind)\n    yield from hint_lanes(scope, name)\n    return to_gate(rows[0]) if rows",
        "name=name, kind=kind)\n    return to_gate(rows[0]) if rows",
    ),
    PlantedBug(
        "cap without what runs",
        "A cap limits each claim, and not all jobs that run.",
        "stores/operations/claims.py",
        "caps[channel] - running if channel in locked else 0",
        "caps[channel] if channel in locked else 0",
    ),
    PlantedBug(
        "pause of a retry",
        "After a refused call, a post of which nothing is out counts as begun, and no pause holds it.",
        "stores/operations/ledger.py",
        "may_be_live=can_be_live(ledger), lookup_at=lookup_at)\n    return RecordedReceipt",
        "may_be_live=True, lookup_at=lookup_at)\n    return RecordedReceipt",
    ),
    PlantedBug(
        "gate of a used-up quota",
        "A post whose quota is used up is claimed again and again.",
        "stores/operations/quotas.py",
        '    until_at = find_refill_time(quota, spent, params["cost"], now)\n',
        "    until_at = now\n",
    ),
    PlantedBug(
        "explanation of a busy lane",
        "A post waits for another one of its account that may be on its way, and `explain` does not say so.",
        "rules/blockers.py",
        '    if ends:\n        sentence = f"Another {noun}',
        '    if False:\n        sentence = f"Another {noun}',
    ),
)
BUGS = {bug.name: bug for bug in ALL}
