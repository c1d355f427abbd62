#!/usr/bin/env python3
"""Weakens each memory order, fence and clear of include/syncfree/cuda/ready in turn: does stress.cu notice?

    python3 tests/cuda/orders/weaken.py --work W [--jobs N] [--only NAME] [--check | --compile]

Builds stress.cu against a copy of include/ for each mutation and runs the tests that should notice. The code as it is
must pass all of them. A mutation with a reason need not be noticed; another one that is not is a failure. --check sees
only whether each mutation applies, --compile also builds; both need no device. The last line is `RESULT passed failed
skipped`.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
READY = "syncfree/cuda/ready/"

# Shared memory is one memory with one order of accesses on all devices so far; what needs the order by the letter is
# test 8 and others of tests/model (LITMUS.md), where each of these is noticed.
ONE_ORDER = "accesses of a block to shared memory keep their order"
SAME_CODE = "ptxas makes the same instruction of it"
# Relaxed and acquire loads of one word differ by what may be read before; a load that depends on the poll's branch is
# issued after it, and stale lines of the first-level cache are the only way to read an old word.
CACHE = "only a line that the first-level cache still holds shows it"
# In test `flags` another warp reads beside the data all the time, so that the line is there. Still no old word was seen
# in 4 * 10^7 words on an H200. Test 1 of tests/model notices.
STILL_NEW = "no old word was read, though the line was read before"

# No store of a multiprocessor was seen to arrive before an earlier one, in 7 * 10^7 words on an H200. PTX promises no
# such thing: test 1 of tests/model notices.
STORES = "stores of a multiprocessor arrive in their order"

# (name, file, text, its replacement, tests that can notice, reason why they need not)
MUTATIONS = [
    ("flag_acquire", "flag.cuh", "return DeviceAtomicRef<unsigned>(*flag).load(::cuda::memory_order_acquire) == value;",
     "return DeviceAtomicRef<unsigned>(*flag).load(::cuda::memory_order_relaxed) == value;", "flags parts", CACHE),
    ("flag_acquire_polled", "flag.cuh", "ld.acquire.gpu.global.u32 seen", "ld.relaxed.gpu.global.u32 seen",
     "flags", STILL_NEW),
    ("flag_release", "flag.cuh", "DeviceAtomicRef<unsigned>(*flag).store(value, ::cuda::memory_order_release);",
     "DeviceAtomicRef<unsigned>(*flag).store(value, ::cuda::memory_order_relaxed);", "flags fence", STORES),
    ("flag_never", "flag.cuh", "DeviceAtomicRef<unsigned>(*flag).store(value, ::cuda::memory_order_release);", "",
     "flags fence", ""),
    ("relaxed_store_weak", "flag.cuh", "DeviceAtomicRef<W>(*flag).store(value, ::cuda::memory_order_relaxed);",
     "*flag = value;", "values", SAME_CODE),
    ("relaxed_store_of_block", "flag.cuh", "DeviceAtomicRef<W>(*flag).store(value, ::cuda::memory_order_relaxed);",
     "::cuda::atomic_ref<W, ::cuda::thread_scope_block>(*flag).store(value, ::cuda::memory_order_relaxed);",
     "values complex_values", "stores go through to the second-level cache"),
    ("relaxed_load_of_block", "flag.cuh", "return DeviceAtomicRef<W>(*flag).load(::cuda::memory_order_relaxed);",
     "return ::cuda::atomic_ref<W, ::cuda::thread_scope_block>(*flag).load(::cuda::memory_order_relaxed);",
     "values fence", ""),
    ("fence_acquire", "flag.cuh",
     "::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device);", "", "fence", ""),
    ("parts_not_atomic", "flag.cuh", "DeviceAtomicRef<R>(*sum).fetch_add(part, ::cuda::memory_order_relaxed);",
     "*sum = *sum + part;", "parts parts_in_block", ""),
    ("count_release", "flag.cuh", "DeviceAtomicRef<unsigned>(*count).fetch_add(1, ::cuda::memory_order_release);",
     "DeviceAtomicRef<unsigned>(*count).fetch_add(1, ::cuda::memory_order_relaxed);", "parts",
     "a part and its count are both atomic operations of one thread in the second-level cache"),
    ("fence_release", "flag.cuh",
     "::cuda::atomic_thread_fence(::cuda::memory_order_release, ::cuda::thread_scope_device);", "", "parts",
     "as for count_release"),
    ("count_never", "flag.cuh", "DeviceAtomicRef<unsigned>(*count).fetch_add(1, ::cuda::memory_order_relaxed);", "",
     "parts", ""),
    ("count_acquire", "flag.cuh", "return DeviceAtomicRef<unsigned>(*count).load(::cuda::memory_order_acquire);",
     "return DeviceAtomicRef<unsigned>(*count).load(::cuda::memory_order_relaxed);", "parts", ""),
    ("block_count_release", "flag.cuh",
     "::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).fetch_add(1, ::cuda::memory_order_release);",
     "::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).fetch_add(1, ::cuda::memory_order_relaxed);",
     "parts_in_block", ONE_ORDER),
    ("block_count_acquire", "flag.cuh",
     "return ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).load(::cuda::memory_order_acquire);",
     "return ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_block>(*count).load(::cuda::memory_order_relaxed);",
     "parts_in_block", ONE_ORDER),
    ("tickets_not_atomic", "flag.cuh",
     "return DeviceAtomicRef<W>(*next).fetch_add(count, ::cuda::memory_order_relaxed);",
     "const W was = *next; *next = was + count; return was;", "tickets", ""),
    ("min_not_atomic", "flag.cuh",
     "DeviceAtomicRef<unsigned long long>(*address).fetch_min(v, ::cuda::memory_order_relaxed);",
     "if (v < *address) *address = v;", "reductions", "the least value may be the last"),
    ("max_not_atomic", "flag.cuh",
     "DeviceAtomicRef<unsigned long long>(*address).fetch_max(v, ::cuda::memory_order_relaxed);",
     "if (v > *address) *address = v;", "reductions", "the largest value may be the last"),
    ("sum_not_atomic", "flag.cuh", "DeviceAtomicRef<N>(*address).fetch_add(v, ::cuda::memory_order_relaxed);",
     "*address = *address + v;", "reductions", ""),
    ("exchange_always", "flag.cuh",
     "return DeviceAtomicRef<unsigned>(*address).compare_exchange_strong(seen, v, ::cuda::memory_order_relaxed,\n"
     "                                                          ::cuda::memory_order_relaxed);",
     "*address = v; return true;", "reductions", ""),
    ("clear_never", "sentinel.cuh", "    *slot = Word<T>::sentinel;\n", "", "values complex_values one_reader", ""),
    ("clear_of_pack_never", "sentinel.cuh", "    *reinterpret_cast<Word64x2*>(slot) = Word64x2::sentinel();\n", "",
     "packs", ""),
    ("clear_in_block_never", "sentinel.cuh",
     "static __device__ void clear_shared(T* slot) { store_word(slot, Word<T>::sentinel); }",
     "static __device__ void clear_shared(T*) {}", "in_block cluster", ""),
    ("sentinel_escapes", "sentinel.cuh",
     "return bits_of(__hiloint2double(static_cast<int>(min(static_cast<unsigned>(__double2hiint(v)), 0xfffffffeu)),\n"
     "                               __double2loint(v)));", "return bits_of(v);", "values complex_values packs", ""),
    ("sentinel_escapes_in_single", "sentinel.cuh", "return min(bits_of(v), sentinel - 1);", "return bits_of(v);",
     "values_in_single", ""),
    ("half_of_complex", "sentinel.cuh",
     "return part::arrived(v.real()) && part::arrived(v.imag()); }", "return part::arrived(v.real()); }",
     "complex_values", "both halves mostly arrive together"),
    ("part_of_pack", "sentinel.cuh",
     "for (const R& p : v.part) all = all && Word<R>::bits_of(p) != Word<R>::sentinel;",
     "all = Word<R>::bits_of(v.part[0]) != Word<R>::sentinel;", "packs", "both halves arrive together on an H100"),
    ("near_scope_cta", "sentinel.cuh", '#define SYNCFREE_NEAR_SCOPE "cluster"', '#define SYNCFREE_NEAR_SCOPE "cta"',
     "cluster", SAME_CODE),
    ("store_if_always", "sentinel.cuh",
     '"{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.relaxed." where " [%0], %1; }"',
     '"{ .reg .pred p; setp.eq.u32 p, %2, 0; @p st.relaxed." where " [%0], %1; }"', "values in_block cluster", ""),
    ("store_two_if_never", "sentinel.cuh", '"{ .reg .pred p; setp.ne.u32 p, %3, 0;',
     '"{ .reg .pred p; setp.eq.u32 p, %3, 0;', "packs", ""),
    ("no_wait_for_launch", "barrier.cuh", 'asm volatile("griddepcontrol.wait;" ::: "memory");', "", "launches", ""),
    ("no_early_launch", "barrier.cuh", 'asm volatile("griddepcontrol.launch_dependents;" ::: "memory");', "",
     "launches", "only time is lost"),
    ("tell_release", "barrier.cuh", "st.release.cta.shared.u32", "st.relaxed.cta.shared.u32", "in_block", ONE_ORDER),
    ("read_count_acquire", "barrier.cuh", "ld.acquire.cta.shared.u32", "ld.relaxed.cta.shared.u32", "in_block",
     ONE_ORDER),
    ("arrive_release", "barrier.cuh", "mbarrier.arrive.shared.b64 state, [%0];",
     "mbarrier.arrive.relaxed.cta.shared::cta.b64 state, [%0];", "stores", ONE_ORDER),
    ("arrive_never", "barrier.cuh", "mbarrier.arrive.shared.b64 state, [%0];", "", "stores", ""),
    ("test_wait_acquire", "barrier.cuh",
     'asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"',
     'asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 p, [%1], %2; '
     'selp.u32 %0, 1, 0, p; }"', "stores panels", ONE_ORDER),
    ("wait_for_no_bytes", "barrier.cuh", "mbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;",
     "mbarrier.arrive.shared.b64 state, [%0];", "panels", ""),
    ("init_fence", "barrier.cuh", 'asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");', "", "panels",
     "a __syncthreads() follows, and nothing was seen without the fence"),
    ("named_barrier_no_wait", "barrier.cuh", 'asm volatile("bar.sync %0, %1;"', 'asm volatile("bar.arrive %0, %1;"',
     "turns", ""),
    ("cluster_relaxed", "barrier.cuh", "barrier.cluster.arrive.release.aligned",
     "barrier.cluster.arrive.relaxed.aligned", "cluster",
     "stores to shared memory of the cluster are on their way for less time than the barrier takes"),
    ("cluster_no_barrier", "barrier.cuh",
     'asm volatile("barrier.cluster.arrive.release.aligned;\\n\\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");',
     "", "cluster", ""),
    ("ticket_is_block", "ticket.cuh", "const unsigned long long ticket = fetch_increment_relaxed(&counter->next);",
     "const unsigned long long ticket = fetch_increment_relaxed(&counter->next) / gridDim.x * gridDim.x + blockIdx.x;",
     "values", "devices dispatch blocks in order; numbers of launches may mix"),
    ("record_fence", "ticket.cuh", "  __threadfence_system();\n", "", "", "words of a message; LITMUS.md, test 11"),
]


def apply(mutation, folder):
    """Copies include/ to folder, mutated; an error where the text is not there."""
    _, file, text, other, _, _ = mutation
    shutil.copytree(ROOT / "include", folder)
    path = folder / READY / file
    source = path.read_text(encoding="utf-8")
    if text not in source:
        raise SystemExit(f"weaken.py: {mutation[0]}: its text is not in {file}")
    path.write_text(source.replace(text, other), encoding="utf-8")


def build(name, include, work):
    """Returns what the compiler said, or nothing if it succeeded."""
    command = ["nvcc", "-std=c++17", "-arch=sm_90", "--expt-relaxed-constexpr", "-w", f"-I{include}"]
    command += [str(ROOT / "tests/cuda/orders/stress.cu"), "-o", str(work / name)]
    env = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/local/cuda/bin")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False)
    return done.stdout[-1500:] if done.returncode else ""


def noticed(program, tests):
    """What the tests said where one failed, else None."""
    try:
        done = subprocess.run(
            [str(program), *tests], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        return "no end after 60 s"
    if done.returncode == 0:
        return None
    wrong = [line for line in done.stdout.splitlines() if not re.search(r": 0 wrong$", line)]
    return "; ".join(wrong)[:200] or f"status {done.returncode}"


def judge(mutation, what):
    """(verdict, text)"""
    name, _, _, _, tests, reason = mutation
    if what:
        return "passed", f"noticed   {name}: {what}"
    if reason:
        return "passed", f"unnoticed {name}: {reason}"
    return "FAILED", f"FAILED    {name}: none of {tests} notices"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--work", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", help="mutations whose name contains this")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args()
    work = pathlib.Path(options.work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    chosen = [m for m in MUTATIONS if not options.only or options.only in m[0]]
    for mutation in chosen:
        apply(mutation, work / f"include-{mutation[0]}")
    if options.check:
        print(f"RESULT {len(chosen)} 0 0")
        return 0
    names = ["unchanged", *(m[0] for m in chosen)]
    places = [ROOT / "include", *(work / f"include-{m[0]}" for m in chosen)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        said = dict(zip(names, pool.map(build, names, places, [work] * len(names))))
    for name in names:
        if said[name]:
            print(f"FAILED    {name} does not compile:\n{said[name]}")
            failed += 1
    passed = 0 if not options.compile else len(names) - failed
    if not options.compile and not failed:
        wrong = noticed(work / "unchanged", [])
        print(f"FAILED    unchanged: {wrong}" if wrong else "passed    unchanged", flush=True)
        passed, failed = (0, 1) if wrong else (1, 0)
        for mutation in chosen:
            tests = mutation[4].split()
            verdict, text = judge(mutation, noticed(work / mutation[0], tests) if tests else None)
            print(text, flush=True)
            passed, failed = passed + (verdict == "passed"), failed + (verdict == "FAILED")
    print(f"RESULT {passed} {failed} 0")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
