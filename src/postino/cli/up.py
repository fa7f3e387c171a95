"""`postino up`: start the API, workers and sandbox on one data directory."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target, audit_actor
from postino.cli.options import Application, DatabaseUrl, DataDir, Json
from postino.cli.ports import LOOPBACK, SERVER_PORT, bind_socket
from postino.cli.server import Port
from postino.cli.shutdown import ShutdownSignal
from postino.errors import SchemaMismatch

if TYPE_CHECKING:
    from postino.cli.supervisor import ServiceUrls, Supervisor
    from postino.cli.welcome import OwnerAccess
    from postino.config import Config
    from postino.wiring import Postino

LOG = "postino.log"
MAX_POLLS, POLL_INTERVAL = 300, 0.05  # seconds


def run_up(
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    port: Port = SERVER_PORT,
    workers: Annotated[int, typer.Option("--workers", min=0, max=64, help="Number of workers.")] = 1,
    app: Application = None,
    as_json: Json = False,
) -> None:
    """Start everything: the API, workers and the sandbox."""
    from postino.cli import logs
    from postino.cli.instance_lock import hold_instance_lock

    target = Target(data_dir, database_url)
    config = target.config()
    if app:
        check_app(app, target)
    with hold_instance_lock(config.data_dir):
        log = config.data_dir / LOG if output.is_terminal() and not as_json else None
        logs.to_file(log) if log else logs.to_stderr()
        bind_socket(LOOPBACK, port).close()
        asyncio.run(run(config, target, log, port, workers, app, as_json=as_json))


def check_app(path: str, target: Target) -> None:
    """Raise WrongUse if the workers could not load this application."""
    from postino.cli.load_app import check_conflicts, load
    from postino.cli.worker import export_settings

    export_settings(target)
    check_conflicts(load(path).config, path, target, None)


async def run(
    config: "Config", target: Target, log: Path | None, port: int, workers: int, handlers: str | None, *, as_json: bool
) -> None:
    from postino.cli.database_notice import watch_database
    from postino.cli.supervisor import Supervisor
    from postino.cli.welcome import list_lines
    from postino.wiring import Postino

    stop = ShutdownSignal(asyncio.get_running_loop())
    stop.listen(until_eof=False)
    await prepare(config)
    supervisor = Supervisor(config, log, stop.event)
    app = Postino(config)
    starting = asyncio.create_task(start(app, supervisor, port, workers, handlers))
    stopping = asyncio.create_task(stop.event.wait())
    try:
        await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            urls = starting.result()
            if as_json:
                print_ready(urls, config)
            else:
                for line in list_lines(config.data_dir, target, urls, await create_owner_access(config, urls), log):
                    output.print_line(line)
            watching = asyncio.create_task(watch_database(app.store.database_state, target))
            await stopping
            watching.cancel()
    finally:
        starting.cancel()
        stopping.cancel()
        await supervisor.close()
        await app.close()


async def start(
    app: "Postino", supervisor: "Supervisor", port: int, workers: int, handlers: str | None
) -> "ServiceUrls":
    """Start all processes and wait until the workers have registered, or for 15 seconds."""
    urls = await supervisor.start(port, workers, handlers)
    for _ in range(MAX_POLLS):  # after that, the log says why no worker runs
        if supervisor.list_worker_pids() <= {worker.pid for worker in await app.store.workers()}:
            break
        await asyncio.sleep(POLL_INTERVAL)
    return urls


async def prepare(config: "Config") -> None:
    """Upgrade the database, store the settings for all workers, and add missing accounts of the sandbox networks.

    Raises WrongVaultKey before it changes anything; a schema from before check values is upgraded first.
    """
    from postino.wiring import Postino

    app = Postino(config)
    try:
        with suppress(SchemaMismatch):
            await app.open()
            await app.vault_keys.check()
        await app.store.migrate()
        await app.vault_keys.check()
        await app.apply_settings(actor=audit_actor())
        await add_sandbox_accounts(app)
    finally:
        await app.close()


async def add_sandbox_accounts(app: "Postino") -> None:
    from postino.wiring import sandbox_accounts

    existing = {(account.network, account.handle) for account in await app.store.accounts()}
    for item in sandbox_accounts():
        if (item.network, item.handle) not in existing:
            await app.accounts.add(
                item.network,
                item.handle,
                item.credentials,
                base_url=f"sandbox:/{item.network}",
                remote_id=item.remote_id,
            )


async def create_owner_access(config: "Config", urls: "ServiceUrls") -> "OwnerAccess | None":
    """Return the owner's key and a link that signs the owner in once; None if a file or a log gets the output."""
    from postino.cli.welcome import OwnerAccess

    if not output.is_terminal():
        return None
    key = read_first_key(config)
    return OwnerAccess(key, dashboard_url(urls, key), await create_sign_in_link(config, urls.url))


async def create_sign_in_link(config: "Config", url: str) -> str:
    """Return a link that signs the owner in once."""
    from postino.auth.sign_in import create_sign_in_url
    from postino.stores.records import AuditContext
    from postino.wiring import Postino

    async with Postino(config) as app:
        return await create_sign_in_url(app.users, app.sign_in, url, AuditContext(audit_actor(), "postino up"))


def print_ready(urls: "ServiceUrls", config: "Config") -> None:
    key = read_first_key(config)
    output.print_json_line(
        {
            "url": urls.url,
            "dashboard_url": dashboard_url(urls, key),
            "api_key": key,
            "sandbox_url": urls.sandbox_url,
        }
    )


def read_first_key(config: "Config") -> str:
    return (config.data_dir / "api.key").read_text().strip()


def dashboard_url(urls: "ServiceUrls", key: str) -> str:
    return f"{urls.url}/#key={key}"  # browsers never send the part after # to the server
