"""Strategies with :single and :trials behind them, for smoke.py: do they alternate with those without?"""

import csv

from checks import expect


def contenders_store_in_single_and_select_by_trials(bench):
    path = bench.work / "contenders.csv"
    names = ("serial", "serial:single", "auto:trials", "auto:single:trials")
    bench.run("-bench_matrices", "7pt:512", "-bench_kinds", "ilu", "-bench_threads", "2", "-bench_strategies",
              ",".join(names), "-bench_tolerance", "1e-4", "-bench_csv", path)
    with open(path, encoding="utf-8", newline="") as file:
        rows = {row["strategy"]: row for row in csv.DictReader(file)}
    expect(set(rows) == {"", *names}, f"{list(rows)}")
    expect(rows["serial:single"]["ran"] == "serial", f"{rows['serial:single']}")
    for name in names:
        expect(("trials" in name) == ("trials: " in rows[name]["ran"]), f"{rows[name]}")
        rounded = 1e-12 < float(rows[name]["error"]) < 1e-5
        expect(bench.scalar not in (8, 16) or rounded == ("single" in name), f"{rows[name]}")
    said = bench.run("-bench_matrices", "7pt:64", "-bench_strategies", "auto:sngle", status=1).stderr
    expect("'auto:sngle' may only end in :single, :trials or both" in said, said)
