# SPDX-License-Identifier: Apache-2.0
"""An Airflow DAG: every day's file becomes rows of an encrypted table, once, however often a task is tried.

The day is the batch's name. A task that died after its rows were in finds them there when it is tried again; a day that is loaded
again with other rows fails, and changes nothing. Days may be loaded in any order and at the same time. The worker needs the key file, so it is
a machine of the owner's. What leaves it is encrypted.
"""

import os
from datetime import datetime, timedelta

from airflow.decorators import dag, task

import hushtable as ht


@task(retries=5, retry_delay=timedelta(minutes=5))
def load(day: str) -> int:
    """Appends the rows of a day; gives the table's rows."""
    key = ht.open_key(os.environ["HUSH_KEY"], passphrase_file=os.environ["HUSH_PASSPHRASE_FILE"])
    token_file = os.environ.get("HUSH_TOKEN_FILE")
    table = ht.open(os.environ["HUSH_TABLE"], keys=key, token_file=token_file)
    return table.append(f"{os.environ['HUSH_INBOX']}/{day}.csv", batch=day).table_rows


@dag(schedule="@daily", start_date=datetime(2026, 1, 1), catchup=True, max_active_runs=4)
def patients_daily():
    """Loads the day that has passed."""
    load("{{ ds }}")


patients_daily()
