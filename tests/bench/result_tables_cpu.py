"""The tables of RESULTS.md for CPUs; result_tables.py has the others."""

import rows
from results import aged, lines_of, number, origin, path_of, section, table, times

EVENTS = ("setup", "refresh", "apply")


def processor(name):
    """Where it ran; older files name the GPU beside it."""
    machine = origin(name)[0]
    return "16 cores of an Intel Xeon" if "Xeon" in machine or "NVIDIA" in machine else machine


def threads_on_cpu():
    from result_tables import label  # noqa: PLC0415  (which uses this module)

    found = [rows.read([path_of("threads")], lambda f, t=t: not f["strategy"] or f["threads"] == t) for t in ("1",
    "16")]
    lines = []
    for one, many in zip(*found):
        ran = many.rows["auto"].fields["ran"].split()[0]
        speeds = [[case.speedup("auto", rows.PETSC, event) for event in EVENTS] for case in (one, many)]
        petsc = [number(1e3 * one.seconds(rows.PETSC, event)) for event in EVENTS]
        memory = float(many.rows["auto"].fields["memory_bytes"]) / float(many.rows["auto"].fields["petsc_bytes"])
        lines.append([label(one), *petsc, *(", ".join(map(times, part)) for part in speeds), f"`{ran}`", times(memory)])
    means = [", ".join(times(rows.geometric_mean([c.speedup("auto", rows.PETSC, e) for c in cases])) for e in EVENTS)
             for cases in found]
    lines.append(["mean", "", "", "", *means, "", ""])
    head = ["matrix", "PETSc: set-up (ms)", "refresh (ms)", "apply (ms)",
            "1 thread: set-up, refresh, apply, times PETSc's speed", "16 threads: the same", "`auto` takes with 16",
            "memory with 16, times PETSc's"]
    return section(
        "How fast is ILU(0) on CPU threads?", ["threads"],
        f"On a CPU ({processor('threads')}); PETSc's `ilu` runs on one core",
        table(head, lines),
        "PETSc with one MPI rank a core, which is how PETSc uses many cores; a busy machine, on which threads that "
        "wait for each other are slow.")


def solves_on_cpu():
    words = {"poisson": "diffusion with jumps, CG", "convection": "convection-diffusion, GMRES"}
    lines = [[f"{words[f['problem']]}, {f['grid']}^3", f"`{f['pc']}`", f["threads"], f["iterations"],
              *(number(float(f[name])) for name in ("setup_ms", "apply_ms", "solve_ms"))] for f in lines_of("demo")]
    head = ["problem", "`-pc_type`", "threads", "iterations", "set-up (ms)", "PCApply (ms)", "KSPSolve (ms)"]
    return section(
        "How long does a whole solve take on a CPU?", ["demo"],
        f"On a CPU ({processor('demo')}); MatMult and vectors, PETSc's own, run on one core", table(head, lines),
        "other problems" + aged("demo", "2026-11-22", "; today's set-ups on several threads") + ".")


def symbolic_on_cpu():
    found = {}
    for f in lines_of("symbolic"):
        found.setdefault((f["matrix"], f["n"], f["levels"]), {})[f["contender"]] = (float(f["ms"]), f["entries"])
    lines = []
    for (matrix, n, k), times_of in found.items():
        petsc, one, many = (times_of[name][0] for name in ("petsc", "1", "16"))
        lines.append([f"`{matrix}` {int(n):,}", k, number(int(times_of["petsc"][1])), number(petsc), number(one),
                      number(many), f"{times(petsc / one)}, {times(petsc / many)}"])
    head = ["matrix", "levels of fill", "entries of the factor", "PETSc (ms)", "1 thread (ms)", "16 threads (ms)",
            "times PETSc's speed"]
    return section(
        "How fast is the symbolic factorization on CPU threads?", ["symbolic"], f"On a CPU ({processor('symbolic')})",
        table(head, lines), "irregular matrices; ICC.")


def sections():
    return [f() for f in (threads_on_cpu, solves_on_cpu, symbolic_on_cpu)]
