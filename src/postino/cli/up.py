"""`postino up`: the API, workers and simulated networks, from nothing to a published post."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postino.cli import output
from postino.cli.connection import Target, audit_actor
from postino.cli.options import DatabaseUrl, DataDir, Json
from postino.cli.ports import DEFAULT_PORT, LOOPBACK, bind_socket
from postino.cli.server import Port
from postino.cli.shutdown import Stop
from postino.cli.worker import check_only_posts

if TYPE_CHECKING:
    from postino.cli.supervisor import ServiceUrls, Supervisor
    from postino.config import Config
    from postino.wiring import Postino

LOG = "postino.log"
LOOKS, LOOK_EVERY = 300, 0.05  # seconds


def run_up(
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    port: Port = DEFAULT_PORT,
    workers: Annotated[int, typer.Option("--workers", min=0, max=64, help="How many workers publish.")] = 1,
    as_json: Json = False,
) -> None:
    """Start everything: the API, workers, and simulated networks to publish to."""
    from postino.cli import logs
    from postino.cli.instance_lock import hold_instance_lock

    target = Target(data_dir, database_url)
    config = target.config()
    with hold_instance_lock(config.data_dir):
        log = config.data_dir / LOG if output.is_terminal() and not as_json else None
        logs.to_file(log) if log else logs.to_stderr()
        bind_socket(LOOPBACK, port).close()
        asyncio.run(run(config, target, log, port, workers, as_json=as_json))


async def run(config: "Config", target: Target, log: Path | None, port: int, workers: int, *, as_json: bool) -> None:
    from postino.cli.supervisor import Supervisor

    stop = Stop(asyncio.get_running_loop())
    stop.listen(until_eof=False)
    await prepare(config)
    supervisor = Supervisor(config, log, stop.event)
    starting = asyncio.create_task(start(config, supervisor, port, workers))
    stopping = asyncio.create_task(stop.event.wait())
    try:
        await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            urls = starting.result()
            if as_json:
                announce(urls, config)
            else:
                welcome(urls, config, target, log, await sign_in_link(config, urls.url))
            await stopping
    finally:
        starting.cancel()
        stopping.cancel()
        await supervisor.close()


async def start(config: "Config", supervisor: "Supervisor", port: int, workers: int) -> "ServiceUrls":
    """Ready is when somebody publishes, or should have begun to long ago."""
    from postino.wiring import Postino

    urls = await supervisor.start(port, workers)
    app = Postino(config)
    try:
        for _ in range(LOOKS):  # then its log says why nobody works, and so does `postino post`
            if supervisor.worker_pids() <= {worker.pid for worker in await app.store.workers()}:
                break
            await asyncio.sleep(LOOK_EVERY)
    finally:
        await app.close()
    return urls


async def prepare(config: "Config") -> None:
    """The database of this release, and an account on each simulated network that has none yet."""
    from postino.wiring import Postino

    app = Postino(config)
    try:
        await app.store.migrate()
        await check_only_posts(app)
        await add_sandbox_accounts(app)
    finally:
        await app.close()


async def add_sandbox_accounts(app: "Postino") -> None:
    from postino.wiring import sandbox_accounts

    there = {(account.network, account.handle) for account in await app.store.accounts()}
    for one in sandbox_accounts():
        if (one.network, one.handle) not in there:
            await app.accounts.add(
                one.network, one.handle, one.credentials, base_url=f"sandbox:/{one.network}", remote_id=one.remote_id
            )


async def sign_in_link(config: "Config", url: str) -> str:
    """For the owner's browser, once."""
    from postino.auth.sign_in import create_sign_in_url
    from postino.stores.records import AuditContext
    from postino.wiring import Postino

    async with Postino(config) as app:
        return await create_sign_in_url(app.users, app.sign_in, url, AuditContext(audit_actor(), "postino up"))


def announce(urls: "ServiceUrls", config: "Config") -> None:
    key = read_first_key(config)
    output.print_json_line(
        {
            "url": urls.url,
            "dashboard_url": dashboard(urls, key),
            "api_key": key,
            "sandbox_url": urls.sandbox_url,
        }
    )


def welcome(urls: "ServiceUrls", config: "Config", target: Target, log: Path | None, sign_in_url: str) -> None:
    from postino.cli.welcome import lines

    key = read_first_key(config)
    for line in lines(config.data_dir, target, dashboard(urls, key), sign_in_url, urls, key, log):
        output.print_line(line)


def read_first_key(config: "Config") -> str:
    return (config.data_dir / "api.key").read_text().strip()


def dashboard(urls: "ServiceUrls", key: str) -> str:
    return f"{urls.url}/#key={key}"  # what follows the # stays in the browser
