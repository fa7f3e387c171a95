"""The witness files as one process uses them: its own slot, which it writes, and all others, which it reads."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import ParamSpec, TypeVar

import structlog

from postino.engine.file_thread import FileThread
from postino.engine.witness_file import WitnessFile, WitnessUnavailable, read_all, read_headers
from postino.engine.witness_records import SentIntent, WitnessContents, WitnessHeader

log = structlog.get_logger("postino.database")
P = ParamSpec("P")
T = TypeVar("T")
MAX_SECONDS = 5.0  # for one call on the files
READING, WRITING = "files of other processes", "file"  # parts that can be in trouble, as can "header" and "records"
CONSEQUENCES = {
    READING: "the worker continues with the files that it can read, so it may not recognise a restored backup",
}
IN_MEMORY_ONLY = "the worker continues, and remembers its intents in memory only"


class WitnessStorage:
    """What keeps the memory of a process beyond its life. Without a state directory nothing does."""

    def __init__(self, state_dir: Path | None) -> None:
        self.state_dir = state_dir
        self.installation: str | None = None
        self.file: WitnessFile | None = None
        self.thread = FileThread("postino-witness", MAX_SECONDS)
        self.troubles: dict[str, str] = {}  # errors, by the part that could not be read or written

    async def open(self, installation: str) -> list[WitnessContents]:
        """Take a file for this process; return what the files of all processes of this machine say."""
        await self.close()
        self.installation = installation
        self.troubles.clear()
        if self.state_dir is None:
            self.report_trouble(WRITING, "There is no state directory.")
            return []
        await self.take_file(None)
        return await self.read_files()

    async def take_file(self, witness: str | None) -> None:
        """Take a file that no process uses: any, or a new one and one of this witness."""
        assert self.state_dir is not None
        assert self.installation is not None
        try:
            self.file = await self.run(WitnessFile.open, self.state_dir, self.installation, witness)
        except WitnessUnavailable as error:
            self.report_trouble(WRITING, str(error))
        else:
            self.troubles.pop(WRITING, None)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call on the files in a thread. Raises WitnessUnavailable if it takes too long."""
        try:
            return await self.thread.run(function, *args, **kwargs)
        except TimeoutError as error:
            raise WitnessUnavailable(
                f"The state directory {self.state_dir} has not responded for {self.thread.seconds:g} s."
            ) from error

    async def read_files(self) -> list[WitnessContents]:
        """Return what the files of this machine say, also of those that other processes write to."""
        if self.state_dir is None or self.installation is None:
            return []
        return self.keep_readable(await self.try_to_read(read_all, self.state_dir, self.installation))

    async def find_headers(self, created_at: datetime) -> list[WitnessHeader]:
        """Return the headers about a database that was created at this time, or about a copy of it."""
        if self.state_dir is None:
            return []
        contents = self.keep_readable(await self.try_to_read(read_headers, self.state_dir))
        return [it.header for it in contents if it.header is not None and it.header.created_at == created_at]

    async def try_to_read(self, read: Callable[..., list[WitnessContents]], *place: object) -> list[WitnessContents]:
        """Return what the files in a directory say, or why the directory cannot be read."""
        try:
            return await self.run(read, *place)
        except WitnessUnavailable as error:
            return [WitnessContents(slot=0, trouble=str(error))]

    def keep_readable(self, contents: Sequence[WitnessContents]) -> list[WitnessContents]:
        """Report the files that cannot be read, and return those that say something."""
        troubles = [it.trouble for it in contents if it.trouble is not None]
        if troubles:
            others = f" {len(troubles) - 1} more files cannot be used either." if troubles[1:] else ""
            self.report_trouble(READING, troubles[0] + others)
        else:
            self.troubles.pop(READING, None)
        return [it for it in contents if it.header is not None]

    async def save_header(self, header: WitnessHeader) -> None:
        """Write the header, or report why that is impossible. Take a new file if there is none any more."""
        if self.state_dir is None:
            return
        try:
            if self.file is not None and await self.run(self.file.is_deleted):
                self.close_file()
            if self.file is None:
                await self.take_file(header.witness)
            if self.file is not None:
                await self.run(self.file.write_header, header)
        except WitnessUnavailable as error:
            self.report_trouble("header", str(error))
        else:
            self.troubles.pop("header", None)

    def lacks_header(self, witness: str) -> bool:
        """Return whether the file has no header of this witness, so that its records could not be written."""
        return self.file is not None and self.file.witness != witness

    async def save_records(self, witness: str, records: Sequence[SentIntent]) -> None:
        """Write the intents of this witness, or report why that is impossible."""
        if self.file is None:
            return
        try:
            await self.run(self.file.append, witness, records)
        except WitnessUnavailable as error:
            self.report_trouble("records", str(error))
        else:
            self.troubles.pop("records", None)

    @property
    def trouble(self) -> str | None:
        """Return what is wrong with the files outside the database; None if nothing is."""
        return next(iter(self.troubles.values()), None)

    def report_trouble(self, part: str, trouble: str) -> None:
        """Log once what is wrong with the files outside the database."""
        if trouble != self.troubles.get(part):
            self.troubles[part] = trouble
            log.warning("witness.unavailable", trouble=trouble, next=CONSEQUENCES.get(part, IN_MEMORY_ONLY))

    def close_file(self) -> None:
        """Unlock the file for other processes as soon as no call on it is running."""
        if self.file is not None:
            self.thread.start()
            self.thread.calls.put(self.file.close)
            self.file = None

    async def close(self) -> None:
        self.close_file()
        with suppress(WitnessUnavailable):
            await self.run(int)  # until the calls before have ended
        self.thread.close()
