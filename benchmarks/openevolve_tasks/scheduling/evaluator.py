"""A rule that orders jobs on one machine, so that few of them are late.

Each job has a processing time, a due date and a weight. Lateness beyond the due date costs the weight for each unit of
time. The metrics compare the cost with that of the order by processing time over weight; 0.5 is equal.
"""

import importlib.util
import pickle
import random
import tempfile


def make_jobs(n, seed, tightness):
    generator = random.Random(seed)
    jobs = [(generator.randint(1, 40), 0, generator.randint(1, 10)) for _ in range(n)]
    total = sum(time for time, _, _ in jobs)
    return [(time, int(total * generator.uniform(0.1, tightness)), weight) for time, _, weight in jobs]


def cost_of(jobs):
    now = cost = 0
    for time, due, weight in jobs:
        now += time
        cost += weight * max(0, now - due)
    return cost


def compare(rule, jobs):
    now, left, order = 0, list(jobs), []
    while left:
        chosen = min(left, key=lambda job: rule(now, *job))
        left.remove(chosen)
        order.append(chosen)
        now += chosen[0]
    reference = cost_of(sorted(jobs, key=lambda job: job[0] / job[2]))
    return reference / (reference + cost_of(order))


def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    metrics = {}
    for name, n, tightness in (("few", 15, 0.9), ("many", 60, 0.9), ("urgent", 40, 0.5)):
        values = [compare(program.priority, make_jobs(n, seed, tightness)) for seed in range(8)]
        metrics[name] = sum(values) / len(values)
    with tempfile.NamedTemporaryFile(suffix=".pkl", delete=False) as file:
        pickle.dump(metrics, file)
    with open(file.name, "rb") as saved:
        return pickle.load(saved)
