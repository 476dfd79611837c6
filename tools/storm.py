"""Send 500 webhook deliveries to the bot while a worker is killed every five seconds, on SQLite and on Redis, and print what came of it.

On Redis workers are paused as well, until they are taken for dead. (One that is paused in the middle of writing to SQLite stops everybody.)
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.conftest import present
from tests.doubles.redis_server import RedisServer
from tests.storm import SECRET, TOKEN, Plan, Report, storm

PLAN = Plan(deliveries=500, repositories=4, pulls=6, versions=6, workers=3, seconds=120, kill_every=5, silence=10)


def row(name: str, report: Report) -> str:
    """One line of the table."""
    answers = ", ".join(f"{count} times {status}" for status, count in sorted(report.answers.items()))
    runs = sum(count for outcome, count in report.jobs.items() if outcome not in ("again", "rescued", "failed"))
    return (
        f"| {name} | {answers} | {report.slowest:.2f} s | {report.kills} | {report.pauses} | {runs} | {report.jobs['rescued']} | {report.jobs['again']} | {report.failed} "
        f"| {report.comments} | {report.doubles} | {len(report.wrong)} | {report.seconds:.0f} s |"
    )


def main() -> int:
    """Run both; 1 when anything is not as it should be."""
    print(
        "| Queue | Answers | Slowest | Kills | Pauses | Jobs done | Rescued | Tried again | Given up | Comments | Doubles hidden | Wrong | Took |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    bad: list[str] = []
    for name in ("SQLite", *(["Redis"] if present("redis") else [])):
        with tempfile.TemporaryDirectory(prefix="storm-") as made:
            folder = Path(made)
            if name == "SQLite":
                report = storm(folder, PLAN, f"sqlite:{folder}/queue.db")
            else:
                with RedisServer(folder / "redis") as server:
                    report = storm(folder, replace(PLAN, pauses=True, silence=4), server.url)
        print(row(name, report), flush=True)
        bad += [f"{name}: {wrong}" for wrong in report.wrong]
        bad += [f"{name}: a secret is in a log" for secret in (SECRET, TOKEN) if secret in report.logs]
        bad += [f"{name}: an answer took {report.slowest:.1f} s"] if report.slowest > 1 else []
    if not present("redis"):
        bad.append("Redis: not run, for redis-server is not installed")
    print("\n".join(bad))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
