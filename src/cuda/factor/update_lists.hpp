#pragma once

/// What each entry of a factor is made of, found once for a pattern.
///
/// Entry (i, q) is a_iq less the sum of l_ip u_pq over p in L(i) with q in U(p), times the inverse pivot of q where it
/// is L's. Entries stand row by row in level order, ascending in a row, so what an entry is made of stands before it.

#include <cstddef>

#include "cuda/analysis/factor_pattern.hpp"
#include "cuda/analysis/levels.hpp"

namespace syncfree::cuda {

/// As kernels see it, by place.
///   lowers, uppers  entries of L and of U
///   index   entry k of L is k, entry k of U is nnz(L) + k, the diagonal of row i nnz(L) + nnz(U) + i
///   row     that the entry stands in
///   begin   of its terms; one more than there are places
///   lower, upper  by term: the entries of L and of U; lower -1: minus one. An entry of IC's L has one such term, the
///                 entry of U that it is made of
template <class I> struct ListsView {
  std::size_t places;
  I lowers, uppers;
  const I *index, *row;
  const std::size_t* begin;
  const I *lower, *upper;
};

template <class I> class UpdateLists {
public:
  UpdateLists() = default;

  /// Makes nothing where that took too long, or the lists more memory than four factors and 256 MB. On the null stream;
  /// throws Failure.
  UpdateLists(const DeviceFactorPattern<I>& pattern, const DeviceLevels<I>& levels, std::size_t number_bytes);

  bool made() const { return !index_.empty(); }
  ListsView<I> view() const
  {
    return {index_.size(), lowers_, uppers_, index_.data(), row_.data(), begin_.data(), lower_.data(), upper_.data()};
  }
  std::size_t bytes() const
  {
    return index_.bytes() + row_.bytes() + begin_.bytes() + lower_.bytes() + upper_.bytes();
  }

private:
  I lowers_ = 0, uppers_ = 0;
  DeviceArray<I> index_, row_;
  DeviceArray<std::size_t> begin_;
  DeviceArray<I> lower_, upper_;
};

}  // namespace syncfree::cuda
