"""Bugs that a simulation must find: earlier defects of Postino, and the guards of its promises, each taken away."""

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
        "expired lease",
        "A worker sends although others have taken its jobs.",
        "engine/lease.py",
        "return self.clock() - self.renewed_at > self.seconds",
        "return False",
    ),
    PlantedBug(
        "quarantine of a lookup",
        "A post is looked up while its request may still arrive, and then sent again.",
        "engine/call.py",
        "        if self._context.now() < lookup_at:\n",
        "        if False:\n",
    ),
    PlantedBug(
        "quarantine in the queue",
        "An uncertain job is claimed before its request can no longer arrive.",
        "rules/settlement.py",
        "            again = max(settlement.run_at, lookup_at)\n",
        "            again = settlement.run_at\n",
    ),
    PlantedBug(
        "intent after the send",
        "The intent of a call is forgotten, as if it were written after the call.",
        "rules/ledger.py",
        "    if not still_open:\n        return ReadyToSend(number)\n",
        "    if not still_open or number == 2:\n        return ReadyToSend(number)\n",
    ),
    PlantedBug(
        "rescue forgets what was sent",
        "A job of a dead worker runs again as if nothing had been sent.",
        "rules/settlement.py",
        '    if job.lookup_at is not None:\n        return _settle_interrupted("died"',
        '    if False:\n        return _settle_interrupted("died"',
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
        "WHERE phase = 'live' AND account = :account AND fingerprint = :fingerprint AND scheduled_at <= :now",
        "WHERE 0 AND account = :account AND fingerprint = :fingerprint AND scheduled_at <= :now",
    ),
    PlantedBug(
        "cancel of a sent post",
        "A post that may be live can be cancelled.",
        "stores/sql/sqlite/jobs.sql",
        "DELETE FROM postino.jobs\nWHERE id = :id AND NOT may_be_live AND (state",
        "DELETE FROM postino.jobs\nWHERE id = :id AND (state",
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
        "publishing/publisher.py",
        "            if refusal.failure.kind is FailureKind.SUSPENDED:\n",
        "            if False:\n",
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
)
BUGS = {bug.name: bug for bug in ALL}
