#include "options.hpp"

#include <string>

namespace syncfree {
namespace {

Status check_range(const char* what, std::int64_t value, std::int64_t least, std::int64_t most)
{
  if (value >= least && value <= most) return {};
  return failed(Code::invalid_argument, std::string(what) + " " + std::to_string(value) + " must be at least " +
                                          std::to_string(least) + " and at most " + std::to_string(most));
}

}  // namespace

Status check_ordering_options(const OrderingOptions& options)
{
  Status status;
  if (options.kind == OrderingKind::cyclic)
    status = check_range("the number of colors of a cyclic order", options.cyclic_colors, 2, most_cyclic_colors);
  if (options.kind == OrderingKind::abmc)
    status = check_range("the number of rows of a block", options.abmc_rows, 1, most_abmc_rows);
  return status;
}

}  // namespace syncfree
