# SPDX-License-Identifier: Apache-2.0
"""A cluster of processes with the few calls of a Spark session that are used, which loses, repeats and reorders tasks as clusters do.

What Spark does by itself (serialising, scheduling) is tested with Spark; here tasks run in fresh Python processes, which have been given
the bytes of a pickled function and nothing else.
"""

import concurrent.futures
import io
import multiprocessing
import pickle
import sys

import pyarrow as pa

RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"


class Row(tuple):
    """A row with an answer."""

    @property
    def answer(self):
        """Its first column."""
        return self[0]


class Conf(dict):
    """Settings."""

    set, unset = dict.__setitem__, dict.__delitem__


class Cluster:
    """As much of a ``SparkSession`` as is used."""

    def __init__(self, draw, cores=2, twice=0.3, lost=0.3):
        self.draw, self.cores, self.twice, self.lost = draw, cores, twice, lost
        self.conf, self.sent, self.modules, self.stages = Conf(), [], set(), []
        context = multiprocessing.get_context("spawn")
        self.pool = concurrent.futures.ProcessPoolExecutor(cores, mp_context=context, initializer=forget, initargs=())

    def range(self, start, end=None, step=1, partitions=None):
        """A frame of numbers."""
        if end is None:
            start, end, partitions = 0, start, self.cores
        numbers = range(start, end, step)
        share = -(-len(numbers) // partitions)
        return Frame(self, [[("number", n) for n in numbers[at * share : (at + 1) * share]] for at in range(partitions)])

    def close(self):
        """Ends the processes."""
        self.pool.shutdown()


class Frame:
    """A frame as steps on partitions."""

    def __init__(self, cluster, partitions, steps=()):
        self.cluster, self.partitions, self.steps = cluster, partitions, steps

    def selectExpr(self, text):
        """The number of each row's partition."""
        assert text == "spark_partition_id() AS number"
        return self

    def groupBy(self):
        """One group."""
        return self

    def max(self, column):
        """The largest number of a partition."""
        assert column == "number"
        return Frame(self.cluster, [[("value", self.cluster.cores - 1)]])

    def mapInArrow(self, function, schema):
        """A task for each partition."""
        assert schema == "answer binary"
        return Frame(self.cluster, self.partitions, (*self.steps, pickle.dumps(function)))

    def repartition(self, count):
        """Rows go anywhere: some partitions get none."""
        return Frame(self.cluster, self.partitions, (*self.steps, count))

    def collect(self):
        """Runs the steps."""
        partitions = self.partitions
        if not self.steps:
            return [Row(value for _, value in rows) for rows in partitions]
        assert self.cluster.conf[RECORDS] == "1"
        for step in self.steps:
            rows = [row for partition in partitions for row in partition]
            if isinstance(step, int):
                partitions = [[] for _ in range(step)]
                for row in rows:
                    self.cluster.draw.choice(partitions).append(row)
                continue
            self.cluster.sent.append(step)
            self.cluster.stages.append(sum(map(bool, partitions)))
            partitions = self._run(step, partitions)
        return [Row([value]) for partition in partitions for _, value in partition]

    def _run(self, function, partitions):
        """Every task at least once, in any order; a second attempt and the first are equal, and either is kept."""
        draw, done = self.cluster.draw, [None] * len(partitions)
        attempts = [at for at in range(len(partitions)) for _ in range(1 + (draw.random() < self.cluster.twice))]
        draw.shuffle(attempts)
        for at in attempts:
            if draw.random() < self.cluster.lost:
                self.cluster.pool.submit(task, function, partitions[at]).result()  # its result is lost, and it runs again
            values, modules = self.cluster.pool.submit(task, function, partitions[at]).result()
            assert done[at] in (None, values), "two attempts of a task differ"
            done[at] = values
            self.cluster.modules |= modules
        return [[("answer", value) for value in values] for values in done]


class Rows:
    """A frame of rows, of which tasks make deliveries: attempts differ, and one of each task counts."""

    def __init__(self, cluster, table, partitions):
        self.cluster, self.table, self.columns = cluster, table, table.column_names
        share = -(-table.num_rows // partitions)
        self.partitions = [table.slice(at * share, share) for at in range(partitions)]

    def select(self, *names):
        """Some columns."""
        assert all(name[0] == name[-1] == "`" for name in names)
        self.partitions = [partition.select([name[1:-1].replace("``", "`") for name in names]) for partition in self.partitions]
        return self

    def mapInArrow(self, function, schema):
        """A task for each partition."""
        assert schema == "delivery binary"
        self.function = pickle.dumps(function)
        return self

    def collect(self):
        """The deliveries of some attempt at each task."""
        draw, cluster, done = self.cluster.draw, self.cluster, {}
        attempts = [at for at in range(len(self.partitions)) for _ in range(1 + (draw.random() < cluster.twice) + (draw.random() < cluster.lost))]
        draw.shuffle(attempts)
        running = [(at, cluster.pool.submit(rows_task, self.function, packed(self.partitions[at], draw))) for at in attempts]
        for at, future in running:
            deliveries, modules = future.result()
            cluster.modules |= modules
            if at not in done or draw.random() < 0.5:
                done[at] = deliveries
        cluster.stages.append(len(attempts))
        return [Delivery([delivery]) for at in sorted(done) for delivery in done[at]]


class Delivery(tuple):
    """A row with a delivery."""

    @property
    def delivery(self):
        """Its first column."""
        return self[0]


def packed(table, draw):
    """Rows in batches of any sizes, as bytes."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=draw.choice([700, 5000, 10_000, 100_000]))
    return sink.getvalue()


def rows_task(function, rows):
    """Runs a pickled function on rows; returns its deliveries, and our modules that are loaded."""
    with pa.ipc.open_stream(rows) as batches:
        out = [value for batch in pickle.loads(function)(iter(batches)) for value in batch.column("delivery").to_pylist()]
    return out, {name for name, module in sys.modules.items() if name.startswith("hush") and module is not None}


def forget():
    """A process that has only what a worker has: the owner's package cannot be imported."""
    sys.modules["hushtable"] = None


def task(function, rows):
    """Runs a pickled function on batches of one row; returns its rows, and our modules that are loaded."""
    kinds = {"number": pa.int64(), "answer": pa.binary()}
    batches = (pa.record_batch([pa.array([value], kinds[name])], names=[name]) for name, value in rows)
    out = [value for batch in pickle.loads(function)(batches) for value in batch.column("answer").to_pylist()]
    return out, {name for name, module in sys.modules.items() if name.startswith("hush") and module is not None}
