# SPDX-License-Identifier: Apache-2.0
"""One Spark session: asks questions of a table in several ways, and prints what it found as JSON. Run by test_spark.py.

    spark_job.py MASTER PLACE KEY PASSPHRASE_FILE STEP...    MASTER is `local[2]` or the like, or `connect` for a session of Spark Connect
"""

import functools
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time
import warnings

import hushtable_worker as worker
import hushtable_worker.spark

import hushtable as ht

RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"


def session(master):
    """A session of Spark; its workers run this Python, and find this file."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = str(pathlib.Path(__file__).parent)
    builder = SparkSession.builder.remote("local[2]") if master == "connect" else SparkSession.builder.master(master)
    if master != "connect":
        builder = builder.config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    return builder.getOrCreate()


def queries(spark, place, key, texts):
    """Rows by Spark and at home, and whether the answers have the same bytes."""
    table, found = ht.open(place, keys=key), []
    for text in texts:
        prepared = table.prepare(text)
        answer = ht.spark.evaluate(spark, place, prepared.plan, tasks=40)
        parts = len(worker.part_sizes(place, prepared.plan))
        alone = worker.finish(place, prepared.plan, [worker.run_parts(place, prepared.plan, 0, parts)])
        rows = list(ht.spark.query(spark, place, text, keys=key))
        found.append({"bytes": answer == alone, "rows": rows == list(table.sql(text)), "count": len(rows)})
    return found


def setting(spark, place, key, texts):
    """The session's setting, before and after, unset and set."""
    def asked():
        ht.spark.query(spark, place, texts[0], keys=key)
        return spark.conf.get(RECORDS, None)

    found = [spark.conf.get(RECORDS, None), asked()]
    spark.conf.set(RECORDS, "77")
    return [*found, asked()]


def dies_once(mark, place, plan, runs, batches):
    """A task of which the first process ends without a word."""
    try:
        mark_file = os.open(mark, os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        yield from worker.spark.partial_answers(place, plan, runs, batches)
        return
    os.close(mark_file)
    os._exit(9)


def deaths(spark, place, key, texts):
    """A question with a task of which the first process ends."""
    import spark_job  # executors import the task; this file is `__main__` here

    ours, mark = worker.spark.partial_answers, os.path.join(tempfile.mkdtemp(), "begun")
    prepared = ht.open(place, keys=key).prepare(texts[0])
    worker.spark.partial_answers = functools.partial(spark_job.dies_once, mark)
    try:
        answer = worker.spark.evaluate(spark, place, prepared.plan, tasks=8)
    finally:
        worker.spark.partial_answers = ours
    return {"rows": list(prepared.finish(answer)) == list(ht.open(place, keys=key).sql(texts[0])), "died": os.path.exists(mark)}


#: Rows of a frame by their number, as Spark makes them and as Python does.
ROWS = 30_000
FRAME = [
    "substring('abc', CAST(id % 3 AS INT) + 1, 1) AS site",
    "CAST(id % 28 AS SMALLINT) AS day",
    "CAST(id % 17 AS DOUBLE) / 8 AS share",
    "CASE WHEN id % 10 > 0 THEN CAST((id * 7 % 9000 - 4000) / 10 AS DECIMAL(8, 1)) END AS temp",
    "CAST(id * 31 % 1000000 AS INT) AS load",
]
SUMS = "SELECT site, COUNT(*) AS n, SUM(load) AS load, SUM(temp) AS temp, COUNT(temp) AS temps FROM readings GROUP BY site ORDER BY site"


def rows_of(frame_rows):
    """The sums of the frame, by site."""
    sums = {}
    for id in range(frame_rows):
        n, load, temp, temps = sums.get("abc"[id % 3], (0, 0, 0, 0))
        has_temp = id % 10 > 0
        sums["abc"[id % 3]] = (n + 1, load + id * 31 % 1000000, temp + has_temp * (id * 7 % 9000 - 4000), temps + has_temp)
    return sums


def sums_at(place, key):
    """The sums of the table, by site."""
    rows = ht.open(place, keys=key).sql(SUMS).to_pyarrow().to_pylist()
    return {row["site"]: (row["n"], int(row["load"]), int(row["temp"] * 10), row["temps"]) for row in rows}


def copied(place):
    """A copy of the table, which nobody remembers; where the caller wants it, or a new one."""
    copy = pathlib.Path(os.environ.get("HUSH_COPY") or tempfile.mkdtemp())
    os.environ["HUSH_STATE_DIR"] = str(copy / "state")
    if not (copy / "T").exists():
        shutil.copytree(place, copy / "T")
    return copy


def rows_that(spark):
    """A frame; its partitions are of different sizes, and one has no rows."""
    return spark.range(0, ROWS, 1, 4).selectExpr(*FRAME).unionByName(spark.range(0, 5, 1, 1).where("id > 9").selectExpr(*FRAME))


def encrypted(spark, place, key, texts):
    """Rows that executors encrypt: taken in once, and by the next run of their job not again."""
    copy = copied(place)
    table = str(copy / "T")
    if not (copy / "device.key").exists():
        ht.device_key(table, copy / "device.key", keys=key)
    before = sums_at(table, key)
    done = [ht.spark.encrypt(rows_that(spark), table, copy / "device.key", job="monday") for _ in range(2)]
    accepted = ht.accept(table, keys=key)
    added = rows_of(ROWS)
    expected = {site: tuple(map(sum, zip(before[site], added[site], strict=True))) for site in before}
    return {
        "announced": [(one.rows, one.deliveries, one.announced_before) for one in done],
        "accepted": (accepted.rows, accepted.waiting, accepted.rejected),
        "equal": sums_at(table, key) == expected,
    }


def encrypts_and_dies(mark, place, key, run, batches):
    """A task of which the first process ends when its parts are stored."""
    deliveries = list(worker.spark.encrypted_rows(place, key, run, batches))
    try:
        mark_file = os.open(mark, os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        yield from deliveries
        return
    os.close(mark_file)
    os._exit(9)


def encrypts_for_ever(mark, place, key, run, batches):
    """A task that stores its parts and does not end."""
    list(worker.spark.encrypted_rows(place, key, run, batches))
    pathlib.Path(mark).touch()
    time.sleep(3600)
    yield from ()


def with_tasks(step):
    """Puts other tasks in the place of ours."""
    import spark_job  # executors import the task; this file is `__main__` here

    def of(spark, place, key, texts):
        ours, mark = worker.spark.encrypted_rows, copied(place) / "mark"
        worker.spark.encrypted_rows = functools.partial(getattr(spark_job, step), str(mark))
        try:
            return {**encrypted(spark, place, key, texts), "marked": mark.exists()}
        finally:
            worker.spark.encrypted_rows = ours

    return of


def encrypted_by_mortals(*arguments):
    """As `encrypted`, by tasks of which the first process ends."""
    return with_tasks("encrypts_and_dies")(*arguments)


def encrypted_for_ever(*arguments):
    """As `encrypted`, by tasks that do not end."""
    return with_tasks("encrypts_for_ever")(*arguments)


def wrong_rows(spark, place, key, texts):
    """A value outside its range: what the caller sees, and that nothing was added."""
    copy = copied(place)
    ht.device_key(copy / "T", copy / "wrong.key", keys=key)
    frame = rows_that(spark).selectExpr("site", "day", "share", "temp", "IF(load = 31, 1073741823, load) AS load")
    try:
        ht.spark.encrypt(frame, str(copy / "T"), copy / "wrong.key")
    except ht.HushError as error:
        message, cause = str(error), type(error.__cause__).__name__
    return {"message": message, "cause": cause, "accepted": ht.accept(copy / "T", keys=key).rows}


def damage(spark, place, key, texts):
    """A part that is lost while the tasks run: what the caller sees."""
    prepared = ht.open(place, keys=key).prepare(texts[0])
    lost = max(pathlib.Path(place, "parts").glob("*.clear.parquet"))
    lost.rename(lost.with_suffix(".away"))
    try:
        ht.spark.evaluate(spark, place, prepared.plan, tasks=3)
    except ht.HushError as error:
        return {"code": error.code, "kind": type(error).__name__, "message": error.message, "cause": type(error.__cause__).__name__}
    finally:
        lost.with_suffix(".away").rename(lost)


def main(master, place, key_file, passphrase_file, texts, *steps):
    """Runs the steps in one session."""
    warnings.simplefilter("ignore")
    key = ht.open_key(key_file, passphrase_file=passphrase_file)
    begun = time.monotonic()
    spark = session(master)
    found = {"spark": spark.version, "session_s": time.monotonic() - begun}
    for step in steps:
        found[step] = globals()[step](spark, place, key, json.loads(texts))
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
