#pragma once

/// Marks functions that nvcc compiles for host and device; other compilers see plain C++.

#if defined(__CUDACC__)
#define SYNCFREE_HD __host__ __device__
#else
#define SYNCFREE_HD
#endif
