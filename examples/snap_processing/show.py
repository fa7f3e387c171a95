"""Prints the view `snap_processing_job`: the state of every snap."""

from examples.snap_processing.database import connect

QUERY = """
SELECT snap.file, job.status, job.attempt_count, snap.starts, job.next_retry_at, job.last_error
FROM snap JOIN snap_processing_job AS job ON job.id = snap.job_id
ORDER BY job.id
"""


def main() -> None:
    with connect(first=".venv/bin/python -m examples.snap_processing.enqueue") as connection:
        for file, status, attempts, starts, retry_at, error in connection.execute(QUERY):
            when = f"  {'again' if attempts else 'due'} at {retry_at:%H:%M:%S}" if retry_at else ""
            print(f"{file:16} {status:10} attempts {attempts}  starts {starts}{when}  {error or ''}".rstrip())


if __name__ == "__main__":
    main()
