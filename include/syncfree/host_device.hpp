#pragma once

/// Marks what the compiler of device code is to make for both, and others read as plain C++.

#if defined(__CUDACC__)
#define SYNCFREE_HD __host__ __device__
#else
#define SYNCFREE_HD
#endif
