# SPDX-License-Identifier: Apache-2.0
"""One Spark session: asks questions of a table in several ways, and prints what it found as JSON. Run by test_spark.py.

    spark_job.py MASTER PLACE KEY PASSPHRASE_FILE STEP...    MASTER is `local[2]` or the like, or `connect` for a session of Spark Connect
"""

import functools
import json
import os
import pathlib
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
