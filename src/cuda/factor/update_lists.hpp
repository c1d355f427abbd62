#pragma once

/// The terms of each entry of a factor, computed once for a pattern.
///
/// Entry (i, q) is a_iq minus the sum of l_ip u_pq over p in L(i) with q in U(p), times the inverse pivot of q for an
/// entry of L. Entries are stored row by row in level order, ascending in a row, so an entry comes after those that it
/// depends on.

#include <cstddef>

#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/levels.hpp"

namespace syncfree::cuda {

/// The lists in the form that kernels use, by position in that order.
///   lowers, uppers  numbers of entries of L and of U
///   index   entry k of L is k, entry k of U is nnz(L) + k, the diagonal of row i nnz(L) + nnz(U) + i
///   row     of the entry
///   begin   offsets of its terms; positions + 1 elements
///   lower, upper  by term: the entries of L and of U; lower = -1: the factor -1. An entry of IC's L has one such term,
///                 with the entry of U that it is made from
template <class I> struct ListsView {
  std::size_t positions;
  I lowers, uppers;
  const I *index, *row;
  const std::size_t* begin;
  const I *lower, *upper;
};

template <class I> class UpdateLists {
public:
  UpdateLists() = default;

  /// Makes nothing if that would take too long, or if the lists would take more memory than four factors or 256 MB,
  /// whichever is larger, or more than `most_bytes`. Works on the null stream; throws Failure.
  UpdateLists(const DeviceFactorPattern<I>& pattern, const DeviceLevels<I>& levels, std::size_t number_bytes,
              double most_bytes);

  bool made() const { return !index_.empty(); }
  /// Returns the bytes of lists that were not made because they would have exceeded `most_bytes`, or 0.
  std::size_t refused_bytes() const { return refused_bytes_; }
  ListsView<I> lists_view() const
  {
    return {index_.size(), lowers_, uppers_, index_.data(), row_.data(), begin_.data(), lower_.data(), upper_.data()};
  }
  std::size_t list_bytes() const
  {
    return index_.bytes() + row_.bytes() + begin_.bytes() + lower_.bytes() + upper_.bytes();
  }

private:
  std::size_t refused_bytes_ = 0;
  I lowers_ = 0, uppers_ = 0;
  DeviceArray<I> index_, row_;
  DeviceArray<std::size_t> begin_;
  DeviceArray<I> lower_, upper_;
};

}  // namespace syncfree::cuda
