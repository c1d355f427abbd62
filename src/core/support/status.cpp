/// Error messages. Each names the location, the value and the remedy.

#include "syncfree/status.hpp"

#include <cstdio>

#include "syncfree/strategy.hpp"

namespace syncfree {

const char* to_string(Code code)
{
  switch (code) {
    case Code::ok: return "ok";
    case Code::invalid_argument: return "invalid_argument";
    case Code::bad_row_offsets: return "bad_row_offsets";
    case Code::column_out_of_range: return "column_out_of_range";
    case Code::unsorted_columns: return "unsorted_columns";
    case Code::duplicate_column: return "duplicate_column";
    case Code::missing_diagonal: return "missing_diagonal";
    case Code::zero_pivot: return "zero_pivot";
    case Code::not_finite: return "not_finite";
    case Code::negative_pivot: return "negative_pivot";
    case Code::another_pattern: return "another_pattern";
    case Code::unknown_strategy: return "unknown_strategy";
    case Code::no_plan: return "no_plan";
    case Code::out_of_memory: return "out_of_memory";
    case Code::device_failure: return "device_failure";
    case Code::wait_expired: return "wait_expired";
    case Code::busy: return "busy";
    case Code::stale_capture: return "stale_capture";
  }
  return "unknown code";
}

static std::string format_number(double value)
{
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

static std::string format_number(double real, double imaginary)
{
  return imaginary == 0 ? format_number(real) : "(" + format_number(real) + "," + format_number(imaginary) + ")";
}

static constexpr const char* zero_pivot_remedy =
  "-pc_factor_nonzeros_along_diagonal (ILU only) or -pc_factor_shift_type nonzero";

std::string Status::message() const
{
  const std::string at = (block_row ? " in block row " : " in row ") + std::to_string(row);
  const std::string entry = at + ", column " + std::to_string(column);

  switch (code) {
    case Code::ok: return "success";
    case Code::invalid_argument: return "invalid argument: " + detail;
    case Code::bad_row_offsets: return "row offsets do not ascend from 0" + at + "; assemble the matrix again";
    case Code::column_out_of_range: return "column index out of range" + entry + "; the matrix must be square";
    case Code::unsorted_columns: return "column indices do not ascend" + entry + "; sort each row by column";
    case Code::duplicate_column: return "duplicate entry" + entry + "; add the two values into one entry";
    case Code::missing_diagonal:
      if (block_row) return "Matrix is missing diagonal block" + at + "; insert it even if its values are 0";
      return "Matrix is missing diagonal entry" + at +
             "; insert it even if its value is 0; if that is then a zero pivot, try " + zero_pivot_remedy;
    case Code::zero_pivot:
      if (block_row)
        return "Singular diagonal block" + at + ": its pivot " + std::to_string(column) + " has the value " +
               format_number(value) + "; add to the diagonal of the block, in blocks of 4 try -pc_factor_shift_type " +
               "inblocks, or factor by entries (-mat_type aij -pc_syncfree_block_size 1) with " +
               "-pc_factor_shift_type nonzero";
      return "Zero pivot row " + std::to_string(row) + " value " + format_number(value) + " tolerance " +
             format_number(tolerance) + "; try " + zero_pivot_remedy;
    case Code::not_finite:
      if (!detail.empty()) return "NaN or infinity in " + detail + at;
      return "NaN or infinity in the factor" + at + "; the matrix contains one, or the factorization overflows";
    case Code::negative_pivot:
      return "Diagonal must be real and nonnegative for symmetric application, but" + at + " it is " +
             format_number(value, imaginary) + "; use another -ksp_pc_side";
    case Code::another_pattern:
      return "the nonzero pattern differs from the one that was analyzed" + (row < 0 ? "" : at) +
             "; analyse the matrix again";
    case Code::unknown_strategy: {
      const std::string why = why_not_built(detail);
      return "unknown strategy " + detail + (why.empty() ? "" : ": " + why);
    }
    case Code::no_plan:
      return "no plan: " + detail + "; use level_order " + (block_row ? "or auto" : "(on a GPU), merged or auto");
    case Code::out_of_memory: return "out of memory" + (detail.empty() ? detail : ": " + detail);
    case Code::device_failure: return "a device call failed: " + detail;
    case Code::wait_expired:
      return "a kernel of " + detail + " was stopped after " + format_number(value) + " s because" +
             (block_row ? " block" : "") + " row " + std::to_string(row) +
             " waited for a value that did not arrive; its results are NaN. Do not use one object in two threads or "
             "two graph replays at once; if the device is only slow, raise -pc_syncfree_wait_limit";
    case Code::busy: return "called from two threads at once; use a solver in one thread at a time";
    case Code::stale_capture:
      return "an invalid captured solve was replayed: a later analysis or refresh replaced its data, or the factor had "
             "no values; its result is NaN; capture it again";
  }
  return to_string(code);
}

}  // namespace syncfree
