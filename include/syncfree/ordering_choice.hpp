#pragma once

/// Whether another order of the rows pays, predicted from the matrix alone: before anything is factored.
///
/// An order of few levels makes an application and the set-up fast, and costs iterations. An iteration takes the time
/// of an application, of a product with A and of the rest. The number of iterations follows a power of the discarded
/// fill (syncfree/ordering.hpp): the square root if the matrix is symmetric, and up to the square if it is not, because
/// other orders do not follow a flow as the given one may. Another order is chosen only if it promises a clear gain.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "syncfree/csr.hpp"
#include "syncfree/factor.hpp"
#include "syncfree/ordering.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// What is to be factored and how.
///   fill_levels                 k of ILU(k), IC(k)
///   strategy, expected_applies  as in SolverOptions
///   sizes                       K and B; the kind is ignored
///   on_device                   times are those of a GPU, else of CPU threads
///   threads                     of the host, where the device measures
///   analysis_follows            the next call of the object is an analysis of the same arrays, which do not change
///                               before it: it takes over what the choice has made
struct OrderingRequest {
  Kind kind = Kind::ilu;
  int fill_levels = 0;
  std::string strategy = "auto";
  std::int64_t expected_applies = 50;
  OrderingOptions sizes = {};
  bool on_device = true;
  int threads = 1;
  bool analysis_follows = false;
};

/// An order that was looked at.
///   ordering    empty: the given order
///   levels      of L: at most, or at least if `has_more`, because counting them ended there
///   apply       predicted microseconds of an application; at least, if `has_more`
///   fill        discarded fill; negative: not measured
///   iterations  predicted, relative to the given order
///   set_up      predicted microseconds of a set-up that depend on the order; at least, if `has_more`
struct OrderingCandidate {
  std::optional<OrderingOptions> ordering = {};
  std::int64_t levels = 0;
  bool has_more = false;
  double apply = 0, fill = -1, iterations = 1, set_up = 0;
};

/// What was chosen and from what.
///   candidates     the given order first; empty if nothing had to be predicted
///   chosen         index into them
///   product, rest  predicted microseconds of a product with A, and of the rest of an iteration
///   applies        that are expected of each set-up, in the given order
///   unsymmetry     0 for a symmetric matrix; 1 if an entry and its mirror image never are both there
///   reason         a clause
struct OrderingChoice {
  std::vector<OrderingCandidate> candidates;
  std::size_t chosen = 0;
  double product = 0, rest = 0, unsymmetry = 0, applies = 1;
  std::string reason;

  std::optional<OrderingOptions> ordering() const;
  /// Predicted time of set-up and solve, in microseconds for each iteration in the given order.
  double time_of(const OrderingCandidate& candidate) const;
  /// Index of the candidate of least predicted time, chosen or not; 0 if there is none.
  std::size_t fastest() const;
  /// Predicted gain of a candidate over the given order: a ratio of times.
  double gain_of(std::size_t candidate) const;
};

/// Returns "given", or the name of the kind with its number: "multicolor", "cyclic 16", "abmc 16".
std::string name_of(const std::optional<OrderingOptions>& ordering);

/// Chooses the order of an incomplete factorization, on the host.
///   A        n x n, already checked by check_pattern
///   threads  of the host
///   out      [out] unchanged on failure
///   errors   out_of_memory; invalid_argument as make_ordering()
///   cost     O(nnz) for the levels of the given order; only if its application is predicted to take long, those of
///            make_ordering() and measure_discarded_fill() for up to three orders
template <class T, class I>
Status choose_ordering(CsrView<T, I> A, const OrderingRequest& request, int threads, OrderingChoice* out);

/// Returns how unsymmetric the values are: the sum of |a_ij - a_ji| over that of |a_ij| + |a_ji|, over the entries of
/// the rows that measure_discarded_fill() samples; 0 without entries beside the diagonal, and 1 if a sum is not finite.
///   A       as above
///   errors  out_of_memory
template <class T, class I> Status measure_unsymmetry(CsrView<T, I> A, double* out);

}  // namespace syncfree
