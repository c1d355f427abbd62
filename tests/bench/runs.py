"""What is measured for RESULTS.md, README.md and the charts: measure.py runs it, result_tables*.py print its commands.

A command is a list of words. Those that begin with $ are filled in by measure.py and printed as they are:
  $gpu       syncfree_bench with the options GPU     $cpu   syncfree_bench on the CPU
  $build     the folder of the build                 $real  all files of REAL, with commas between them
  $matrices  the folder with the real matrices       $csv   the file for the results; $folder one for several
syncfree_bench gets -bench_csv $csv in addition.
"""

import dataclasses

GPU = "-use_gpu_aware_mpi 0 -bench_mat_type aijcusparse -bench_threads 16"
WIDTH = 100

# Matrices of the folder whose ILU(0) exists in natural order
REAL = """2dcyl1 add20 Airfoil_p1_ref1 ani4 A_spd01 bcspwr09 bcsstk09 bcsstk10 bcsstk13 bcsstk14 bcsstk15
bcsstk16 bcsstk18 bcsstk26 bcsstk33 BentPipe2D100 bsrmat_SPE01 cage8 cage9 case8387pegase case9241pegase
commanche_dual cryg2500 csrmat_FE Dubcova1 dwt_1005 dwt_1242 dwt_2680 dwt_992 ex6 ginkgo_multigrid6525 GT01R
jagmesh7 jpwh_991 Lap1500 lap3d_40 lsc_F_2 lsc_Qu_2 memplus microgrid_jac_01 ml_M1 ml_samplemat orsirr_1
orsirr_2 orsreg_1 Pd pglib_opf_case9591_goc rail_20209 rail_79841 s3rmt3m3 sherman1 sherman3 surf_armadillo_r1
vem2 wathen_30_30""".split()
FILLED_TWICE = """lap3d_40 rail_20209 BentPipe2D100 Dubcova1 surf_armadillo_r1 bcsstk18 wathen_30_30 orsreg_1 sherman3
2dcyl1""".split()
FILLED_ONCE = FILLED_TWICE + "microgrid_jac_01 fem_anu_r1_jump add20 case9241pegase GT01R csrmat_FE".split()


@dataclasses.dataclass(frozen=True)
class Command:
    words: tuple
    columns: dict = dataclasses.field(default_factory=dict)  # added to each of its lines

    def files(self):
        """Names of the real matrices that it reads."""
        option = next((word for word in self.words if word in ("-bench_files", "--files")), None)
        given = self.words[self.words.index(option) + 1] if option else ""
        if given == "$real":
            return list(REAL)
        return [path.split("/")[-1].split(".")[0] for path in given.split(",") if path]


@dataclasses.dataclass(frozen=True)
class Run:
    """`files` are what it makes in the folder of results, by the name in the list there; CARD stands for the card or
    the processor. The list loses those names that it supersedes."""

    name: str
    where: str  # gpu, gpus (as many as there are) or cpu
    seconds: int  # about, on an H200 and its host
    commands: tuple
    files: dict
    supersedes: tuple = ()

    def matrices(self):
        return list(dict.fromkeys(name for command in self.commands for name in command.files()))


def bench(program, text, **columns):
    """A command of syncfree_bench."""
    return Command((program, *text.split()), columns)


def script(text):
    return Command(tuple(text.split()))


def read(names):
    return ",".join(f"$matrices/{name}.petsc.gz" for name in names)


def run(name, where, seconds, *commands, file=None, supersedes=()):
    return Run(name, where, seconds, commands, {name: file or f"{name}_CARD.csv"}, supersedes)


CHOICE = "-bench_kinds ilu -bench_strategies auto,level_order,merged,tiled,cusparse -bench_repetitions 5 " \
    "-bench_tolerance 1e-8 -bench_time 0.03 "
FILL = "-bench_strategies auto,level_order,cusparse -bench_repetitions 3 -bench_time 0.02 "
BLOCKS = "-bench_threads 1 -bench_kinds ilu -bench_strategies auto -bench_repetitions 5 -options_left 0 "
SOR = "-bench_solves -bench_problems poisson -bench_sizes 2146689 "
CPU = "-bench_kinds ilu -bench_strategies auto -bench_threads 1,16 -bench_time 0.2 "
DEMO = "python3 config/demo.py --folder $build/examples --library $build/libsyncfree_ilu.so --csv $csv --grid "
OF_PAPERS = "double single parts_4 parts_16 parts_64 parts_256 waves sequential".split()

RUNS = (
    run("default", "gpu", 60, bench(
        "$gpu", "-bench_kinds ilu -bench_strategies auto,cusparse -bench_repetitions 3 -bench_time 0.03 -bench_slow 1 "
        "-bench_tolerance 1e-8 -bench_matrices 7pt:2097152,7pt:1000000,7pt:2146689,7pt:4096000,7pt:8000000,27pt:884736,"
        "5pt:2096704,7pt:32768,elasticity:331776,elasticity:41472,powerlaw:1000000,mesh:300000,mesh_on_curve:300000,"
        "mesh_at_random:300000,chain:200000,banded:200000,narrow_band:60000")),
    run("planes", "gpu", 50, bench(
        "$gpu", "-bench_kinds ilu -bench_strategies auto,level_order,cusparse -bench_repetitions 3 -bench_time 0.05 "
        "-bench_tolerance 1e-8 -bench_matrices 27pt:884736,27pt:1000000,27pt:1124864,27pt:1520875,27pt:2097152,"
        "27pt:2744000,27pt_primes:1500000,27pt:110592")),
    run("lines", "gpu", 15, bench(
        "$gpu", "-bench_kinds ilu -bench_strategies auto,cusparse -bench_repetitions 3 -bench_time 0.05 "
        "-bench_matrices 7pt:91125,5pt:200704,9pt:2149156,9pt:200704")),
    run("files", "gpu", 60, bench("$gpu", CHOICE + "-bench_files $real")),
    run("files1000", "gpu", 60, bench("$gpu", CHOICE + "-bench_pc_syncfree_expected_applies 1000 -bench_files $real")),
    run("odd", "gpu", 40, bench(
        "$gpu", CHOICE + "-bench_matrices mesh:2000,mesh:20000,mesh_on_curve:10000,banded:10000,narrow_band:5000,"
        "chain:5000,road:5041,road:20164,road:50176,beam:5103,waves8:10000,5pt:900,5pt:2500,5pt:5041,9pt:2500,"
        "9pt:10000,27pt:1000,27pt:8000,27pt:46656,7pt:1000,7pt:8000,7pt:64000,elasticity:3000,elasticity:20577,"
        "powerlaw:5000,powerlaw:2000,hubs:20000,kkt:5488,mesh_at_random:5000,mesh_at_random:20000,two_rows:5000,"
        "two_rows:1500,dense:300,waves512:20480,7pt_primes:4199,27pt_primes:4199"), file="odd_small_CARD.csv"),
    run("untuned", "gpu", 40, bench(
        "$gpu", "-bench_kinds ilu -bench_strategies auto,level_order,merged,cusparse -bench_repetitions 3 -bench_time "
        "0.01 -bench_matrices 7pt:91125,27pt:54872,5pt:62500,9pt:90000,elasticity:24000,mesh:50000,mesh_on_curve:60000,"
        "mesh_at_random:60000,banded:50000,narrow_band:20000,chain:50000,powerlaw:100000,kkt:100000,road:100000,"
        "hubs:50000,beam:30000,two_rows:30000,waves8:30000,waves512:60000,waves4096:150000"), file="odd_CARD.csv"),
    run("chains", "gpu", 40, bench(
        "$gpu", "-bench_kinds ilu -bench_strategies auto,tiled,level_order,cusparse -bench_repetitions 3 -bench_time "
        "0.05 -bench_matrices 27pt:884736,27pt:1000000,27pt:110592,elasticity:331776,elasticity:206763,"
        "elasticity:41472")),
    run("fill", "gpu", 60,
        bench("$gpu", FILL + "-bench_kinds ilu -bench_levels 1 -bench_matrices 7pt:100000,5pt:100000,27pt:60000,"
              "9pt:60000,mesh:50000,mesh_at_random:60000,elasticity:30000 -bench_files " + read(FILLED_ONCE)),
        bench("$gpu", FILL + "-bench_kinds ilu -bench_levels 2 -bench_matrices 7pt:60000,5pt:60000,9pt:30000,"
              "road:40000 -bench_files " + read(FILLED_TWICE))),
    run("icc", "gpu", 15,
        bench("$gpu", FILL + "-bench_kinds icc -bench_matrices 7pt:300000,5pt:200000,27pt:60000,9pt:60000,mesh:50000,"
              "elasticity:60000 -bench_files " + read(["Dubcova1", "wathen_30_30"]))),
    run("blocks", "gpu", 60,
        *(bench("$gpu", f"{BLOCKS}-bench_matrices {matrix} -bench_pc_syncfree_block_size {size}", block_size=str(size))
          for matrix, full in (("elasticity:331776", 3), ("species:1310720", 5)) for size in (1, full))),
    run("solves", "gpu", 80,
        bench("$gpu", "-bench_solves -bench_problems poisson,convection -bench_sizes 2146689 -bench_max_it 1000 "
              "-bench_pcs ilu,jacobi,gamg,syncfree_ilu -bench_repetitions 3"),
        bench("$gpu", "-bench_solves -bench_problems poisson -bench_sizes 8000000 -bench_pcs ilu,jacobi,syncfree_ilu "
              "-bench_repetitions 3"), supersedes=("solves_h100", "solves_200", "gamg")),
    run("orders", "gpu", 250, bench(
        "$gpu", "-bench_threads 1 -bench_kinds ilu,icc -bench_pcs jacobi -bench_repetitions 5 -bench_orderings natural,"
        "syncfree_multicolor,syncfree_cyclic:16,syncfree_abmc:16,syncfree_auto -bench_matrices tets_jumps:100000,"
        "tets_jumps:300000,tets_convection:100000,tets_convection:300000,tets_elasticity:100000,7pt:1000000,"
        "7pt:8000000 -bench_files " + read(["fem_anu_r1_jump", "surf_armadillo_r1", "Dubcova1"]))),
    run("examples", "gpu", 40, script(
        "python3 tests/bench/examples.py --programs $build/examples --library $build/libsyncfree_ilu.so --device "
        "--bratu 80 --reaction 24 --csv $csv")),
    run("sor", "gpu", 60,
        bench("$gpu", SOR + "-bench_pcs jacobi,syncfree_sor,syncfree_ilu -bench_time 0.3"),
        bench("$gpu", SOR + "-bench_pcs gamg,gamg/syncfree_sor,gamg/sor -bench_repetitions 1 -bench_time 0.1"),
        bench("$gpu", SOR + "-bench_pcs syncfree_sor -bench_time 0.3 -bench_pc_sor_its 2 -bench_note its=2")),
    run("columns", "gpu", 30, bench(
        "$gpu", "-bench_kinds ilu -bench_columns 8,32 -bench_strategies auto,level_order,cusparse -bench_time 0.1 "
        "-bench_repetitions 3 -bench_matrices 7pt:2097152,7pt:262144,27pt:884736,mesh:100000,5pt:2096704,9pt:1048576,"
        "elasticity:90000")),
    run("ranks", "gpus", 180, script(
        "python3 tests/bench/scaling.py --program $build/examples/poisson --library $build/libsyncfree_ilu.so "
        "--grid 129 --ranks 1,2,4 --gpus 1,2,4 --repeat 2 --csv $csv")),
    run("loop", "gpu", 30, bench(
        "$gpu", "-bench_kinds ilu -bench_strategies loop,csr_writing_first,cusparse -bench_time 0.1 -bench_matrices "
        "7pt:205379,mesh:100000,elasticity:30000,banded:100000,powerlaw:100000")),
    run("hpcg_like", "gpu", 40,
        bench("$gpu", "-bench_hpcg_like 192 -bench_hpcg_like_check 64 -bench_repetitions 9"),
        bench("$gpu", "-bench_hpcg_like 192 -bench_hpcg_like_check 16 -bench_repetitions 7 -bench_hpcg_like_product "
              "sell")),
    Run("papers", "gpu", 160,
        (script("bash tests/bench/papers.sh --device --program $build/syncfree_bench --out $folder --files $real"),),
        {"papers": "papers/solves.csv", **{name: f"papers/{name}.csv" for name in OF_PAPERS}}),
    run("sweep", "gpu", 120, script("bash tests/bench/sweep.sh $folder"), file="sweep.csv"),
    run("threads", "cpu", 120,
        bench("$cpu", CPU + "-bench_sizes 200000"),
        bench("$cpu", CPU + "-bench_repetitions 3 -bench_sizes 2146689 -bench_matrices 7pt,5pt,27pt")),
    run("demo", "cpu", 100, script(DEMO + "64"), script(DEMO + "129 --repeat 1 --problems poisson")),
    run("symbolic", "cpu", 130, bench(
        "$cpu", "-bench_symbolic 1,2,3 -bench_threads 1,16 -bench_kinds ilu -bench_matrices 5pt,7pt,27pt -bench_sizes "
        "100000,1000000 -bench_time 0.1 -bench_repetitions 3")),
)


def makers():
    """{name in the list of results: the run that makes it today}"""
    return {name: one for one in RUNS for name in (*one.files, *one.supersedes)}


def text_of(command):
    """The command as RESULTS.md prints it. Lists are broken behind commas, without blanks, as a shell wants it; an
    option is on the line of its value, where that fits a line."""
    lines, line, words = [], "", list(command.words)
    while words:
        word = words.pop(0)
        if word.startswith("-") and words and not words[0].startswith("-") and len(word) + len(words[0]) < WIDTH - 4:
            word += " " + words.pop(0)
        whole = word if len(word) < WIDTH - 4 else word.replace(",", ",\0")
        for part in whole.split("\0"):
            joined = line.endswith(",")
            if len(line) + len(part) + 1 > WIDTH:
                lines.append(line + ("\\" if joined else " \\"))
                line = part if joined else "  " + part
            else:
                line += part if joined or not line else " " + part
    return "\n".join([*lines, line])


def parts(seconds, places=("gpu", "cpu", "gpus")):
    """Lists of runs that take at most so many seconds, none of which mixes places: as few as will do, about equally
    long. A run that takes longer is alone."""
    return [part for place in places for part in parts_of([one for one in RUNS if one.where == place], seconds)]


def parts_of(some, seconds):
    for count in range(-(-sum(one.seconds for one in some) // seconds), len(some) + 1):
        bins = [[] for _ in range(count)]
        for one in sorted(some, key=lambda one: -one.seconds):
            min(bins, key=length).append(one)
        if all(length(part) <= seconds or len(part) == 1 for part in bins):
            return [sorted(part, key=RUNS.index) for part in bins]
    return [[one] for one in some]


def length(part):
    return sum(one.seconds for one in part)
