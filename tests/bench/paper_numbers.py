"""Numbers that the papers give, and which matrix of ours stands for which of theirs.

liu   Liu, Li, Hogg, Duff, Vinter: A Synchronization-Free Algorithm for Parallel Sparse Triangular Solves, Euro-Par 2016
lu    Lu, Niu, Liu: Efficient Block Algorithms for Parallel Sparse Triangular Solve, ICPP 2020
su    Su et al.: CapelliniSpTRSV, ICPP 2020, as its slides give them
somo  Somo, Cheshmi: Sync-Free GPU Parallelization of Sparse Kernels from Sequential Python Code, SC 2025
"""

# Liu, table 3: rows, entries of the matrix, levels
LIU_MATRICES = {
    "nlpkkt160": (8345600, 229518112, 2),
    "road_central": (14081816, 33866826, 59),
    "road_usa": (23947347, 57708624, 77),
    "webbase-1M": (1000005, 3105536, 514),
    "wiki-Talk": (2394385, 5021410, 522),
    "chipcool0": (20082, 281150, 534),
    "Dense": (2000, 4000000, 2000),
    "FEM/Cantilever": (62451, 4007383, 2397),
    "crankseg_1": (52804, 10614210, 4056),
    "FEM/ship_003": (121728, 8086034, 4367),
    "hollywood-2009": (1139905, 113891327, 82735),
}
# Liu, table 1: a level-set solve on two Xeon E5-2695 v3: preprocessing, synchronization, computing in ms
LIU_BREAKDOWN = {
    "FEM/ship_003": (92.46, 10.96, 1.99),
    "FEM/Cantilever": (47.89, 5.62, 3.98),
    "chipcool0": (8.74, 1.15, 0.84),
    "nlpkkt160": (484.67, 0.01, 38.29),
}
# Liu, section 4.2: sync-free over cuSPARSE 7.5 on a Titan X, double precision: mean and best
LIU_SPEEDUP = (2.14, 3.65)
# Liu, table 4, Titan X: ms of preprocessing, cuSPARSE and sync-free
LIU_PREPROCESSING = {
    "nlpkkt160": (19.99, 8.91),
    "road_usa": (84.01, 3.37),
    "road_central": (42.62, 6.98),
    "wiki-Talk": (10.49, 0.20),
    "webbase-1M": (5.48, 0.13),
    "chipcool0": (1.41, 0.02),
    "FEM/ship_003": (4.34, 0.26),
    "FEM/Cantilever": (8.28, 0.16),
    "hollywood-2009": (204.10, 4.82),
    "crankseg_1": (6.14, 0.43),
    "Dense": (2.99, 0.12),
}
LIU_PREPROCESSING_SPEEDUP = (43.7, 70.5)  # section 4.3, Titan X: mean and best

# Lu, tables 1 and 2: right-hand sides updated and solutions read in units of n, for 4, 16, 256 and 65536 triangles
LU_PARTS = (4, 16, 256, 65536)
LU_UPDATED = {
    "column_block": (2.5, 8.5, 128.5, 32768.5),
    "row_block": (1.75, 1.94, 1.99, 1.99),
    "recursive_block": (2, 3, 5, 9),
}
LU_READ = {
    "column_block": (0.75, 0.94, 0.99, 0.99),
    "row_block": (1.5, 7.5, 127.5, 32767.5),
    "recursive_block": (1, 2, 4, 8),
}
# Lu, table 4, Titan RTX: rows, entries, levels; GFlops of cuSPARSE v2, sync-free, recursive block
LU_SIX = {
    "nlpkkt200": (16240000, 232232816, 2, 13.26, 18.09, 45.75),
    "mawi_201512020030": (68863315, 140570795, 19, 0.09, 0.40, 6.41),
    "kkt_power": (2063494, 8545814, 17, 3.67, 5.81, 23.77),
    "FullChip": (2987012, 14804570, 324, 3.83, 0.70, 7.78),
    "vas_stokes_4M": (4382246, 96836943, 2815, 15.39, 0.28, 17.35),
    "tmt_sym": (726713, 2903837, 726235, 0.014, 0.008, 0.015),
}
# Lu, section 4.2, Titan RTX, 159 matrices: recursive block over cuSPARSE and over sync-free, mean and best
LU_OVER_VENDOR, LU_OVER_SYNC_FREE = (4.72, 72.03), (9.95, 61.08)
# Lu, table 5: mean ms of preprocessing, of a solve, and of preprocessing with 100, 500 and 1000 solves
LU_OVERALL = {
    "vendor": (91.32, 103.09, 10400.71, 51638.30, 103185.29),
    "sync_free": (2.34, 94.79, 9481.10, 47396.15, 94789.96),
    "block": (104.44, 11.40, 1244.05, 5802.48, 11500.52),
}
LU_SETUP_IN_SOLVES = 9.16  # section 4.4
# Lu, section 4.3: rate in double over rate in single precision
LU_PRECISION = {"vendor": (0.7, 0.8), "sync_free": (0.9, 0.9), "block": (0.8, 0.9)}

# Su, slides 41 and 42: mean GFLOP/s, and speedups of a thread a row over its peers, 245 matrices
SU_GFLOPS = {"vendor": 1.92, "sync_free": 1.78, "thread_rows": 6.84}
SU_SPEEDUP = {"sync_free": 4.97, "vendor": 4.74}
# Su, slide "Case study": ms of preprocessing and of a solve
SU_CASES = {
    "nlpkkt160": {"level_set": (310.07, 28.07), "vendor": (16.24, 37.98), "sync_free": (8.07, 27.73)},
    "wiki-Talk": {"level_set": (31.09, 12.89), "vendor": (1.99, 11.88), "sync_free": (0.42, 10.02)},
    "cant": {"level_set": (4.81, 28.79), "vendor": (0.28, 7.69), "sync_free": (0.28, 5.02)},
}

# Somo, section 3: GFLOP/s, of CuPy the best; times that the generated kernel is as fast as CuPy, least and best
SOMO_GFLOPS = {"sequential": 0.003, "vendor": 0.135}
SOMO_OVER_VENDOR = (1.5, 6)

# Ours for theirs: of the same kind, smaller. Files of SYNCFREE_MATRICES are named as they are there.
STANDS_FOR = {
    "kkt": ("nlpkkt160", "nlpkkt200"),
    "road": ("road_usa", "road_central"),
    "hubs": ("wiki-Talk", "mawi_201512020030"),
    "powerlaw": ("webbase-1M", "kkt_power"),
    "dense": ("Dense",),
    "beam": ("FEM/Cantilever", "cant"),
    "elasticity": ("FEM/ship_003",),
    "two_rows": ("FullChip",),
    "chain": ("tmt_sym",),
    "bcsstk33": ("crankseg_1",),
    "Dubcova1": ("chipcool0",),
    "GT01R": ("vas_stokes_4M",),
}

# What plays a part, the first that was measured; of the host's strategies the nearest relation.
ROLES = {
    "vendor": ("cusparse", "petsc"),
    "level_set": ("level_set",),
    "sync_free": ("csc_sync_free", "sync_free"),
    "thread_rows": ("csr_writing_first", "blocks"),
    "block": ("recursive_block",),
    "by_hand": ("csr_writing_first", "sync_free"),
}
