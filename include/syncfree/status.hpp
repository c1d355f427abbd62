#pragma once

/// What a call of the core reports: success, or what failed and in which row.
/// The core never prints, aborts or lets exceptions escape.

#include <cstdint>
#include <string>
#include <utility>

#if defined(__FAST_MATH__)
#error "syncfree tests for NaN and infinity, which -ffast-math and -Ofast compile away: use -fno-fast-math"
#endif

namespace syncfree {

enum class Code {
  ok,
  invalid_argument,     ///< `detail` states which
  bad_row_offsets,      ///< row_begin is not ascending from 0
  column_out_of_range,  ///< a column outside [0, n)
  unsorted_columns,     ///< columns of a row do not ascend
  duplicate_column,     ///< a column occurs twice in its row
  missing_diagonal,     ///< no structural entry (row, row)
  zero_pivot,           ///< |pivot| <= tolerance and the shift rule does not repair it
  not_finite,           ///< NaN or infinity in the numeric factorization
  negative_pivot,       ///< a symmetric half needs sqrt(D) and D is negative or not real
  another_pattern,      ///< refresh with a matrix whose pattern differs in this row from the analysed one
  unknown_strategy,     ///< `detail` is the name asked for
  no_plan,              ///< `tiled` or `wavefront` does not support the matrix; `detail` gives the reason
  out_of_memory,        ///< `detail` states for what, if known
  device_failure,       ///< `detail` is the error message of the device's library
  busy,                 ///< another thread is in a call of the same object; nothing was done
  stale_capture,        ///< an invalidated captured solve was replayed before this call; nothing was done
  wait_expired          ///< a wait on the device was given up; `detail`: the strategy, `value`: the limit in seconds
};

/// Row and column are 0-based, -1 if the failure belongs to no row. They are numbered as in the caller's matrix, but
/// for numeric failures in the factor's row order, as in PETSc.
struct [[nodiscard]] Status {
  Code code = Code::ok;
  std::int64_t row = -1;
  std::int64_t column = -1;
  bool block_row = false;  ///< row counts rows of dense blocks; `column` of zero_pivot is then the pivot in the block.
                           ///< Of no_plan: the solve with such blocks has none
  double value = 0;      ///< |pivot| for zero_pivot, real part for negative_pivot, the limit for wait_expired
  double imaginary = 0;  ///< imaginary part for negative_pivot
  double tolerance = 0;  ///< tolerance with which `value` was compared
  std::string detail;

  bool ok() const { return code == Code::ok; }

  /// Returns one human-readable sentence: what failed, where, which value, what to do.
  std::string message() const;
};

/// Makes a failure at an entry of the matrix. Allocates nothing.
inline Status failed(Code code, std::int64_t row = -1, std::int64_t column = -1)
{
  Status status;
  status.code = code;
  status.row = row;
  status.column = column;
  return status;
}

/// Makes a failure with an explanation.
inline Status failed(Code code, std::string detail)
{
  Status status = failed(code);
  status.detail = std::move(detail);
  return status;
}

/// Returns the short name of a code ("zero_pivot"), for tests and logs.
const char* to_string(Code code);

}  // namespace syncfree
