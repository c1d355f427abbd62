#pragma once

/// What a call of the core reports: success, or what failed and in which row.
/// The core never prints, aborts or throws across its border.

#include <cstdint>
#include <string>
#include <utility>

#if defined(__FAST_MATH__)
#error "syncfree tests for NaN and infinity, which -ffast-math and -Ofast compile away: use -fno-fast-math"
#endif

namespace syncfree {

enum class Code {
  ok,
  invalid_argument,     ///< `detail` says which
  bad_row_offsets,      ///< row_begin is not ascending from 0
  column_out_of_range,  ///< a column outside [0, n)
  unsorted_columns,     ///< columns of a row do not ascend
  duplicate_column,     ///< a column stands twice in its row
  missing_diagonal,     ///< no structural entry (row, row)
  zero_pivot,           ///< |pivot| <= tolerance and the shift rule does not repair it
  not_finite,           ///< NaN or infinity met in the numeric factorization
  negative_pivot,       ///< a symmetric half needs sqrt(D) and D is negative or not real
  another_pattern,      ///< a refresh with a matrix whose pattern, in this row, is not the one that was analysed
  unknown_strategy,     ///< `detail` is the name asked for
  no_plan,              ///< `tiled` or `wavefront` has none for the matrix; `detail` says why
  out_of_memory,        ///< `detail` says of what, where that is known
  device_failure,       ///< `detail` is what the device's library says
  busy,                 ///< another thread is in a call of the same object; this one has done nothing
  stale_capture,        ///< a captured solve that is void was replayed before this call, which has done nothing
  wait_expired          ///< a wait on the device was given up; `detail` is the strategy, `value` the limit in seconds
};

/// Row and column are 0-based, -1 where the failure belongs to no row. They count in the
/// caller's matrix, and for failures of the numbers in the factor's order of rows, as in PETSc.
struct [[nodiscard]] Status {
  Code code = Code::ok;
  std::int64_t row = -1;
  std::int64_t column = -1;
  double value = 0;      ///< |pivot| for zero_pivot, real part for negative_pivot, the limit for wait_expired
  double imaginary = 0;  ///< imaginary part for negative_pivot
  double tolerance = 0;  ///< the tolerance `value` was compared with
  std::string detail;

  bool ok() const { return code == Code::ok; }

  /// One sentence for a person: what, where, which value, what to do.
  std::string message() const;
};

/// A failure at an entry of the matrix. Allocates nothing.
inline Status failed(Code code, std::int64_t row = -1, std::int64_t column = -1)
{
  Status status;
  status.code = code;
  status.row = row;
  status.column = column;
  return status;
}

/// A failure that needs words.
inline Status failed(Code code, std::string detail)
{
  Status status = failed(code);
  status.detail = std::move(detail);
  return status;
}

/// The short name of a code ("zero_pivot"), for tests and logs.
const char* to_string(Code code);

}  // namespace syncfree
