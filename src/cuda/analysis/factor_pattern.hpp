#pragma once

/// The pattern of a factor in device memory, and the sources of its values. On the null stream; complete on return.
/// Throws Failure and std::bad_alloc.

#include <functional>

#include "cuda/analysis/pattern.hpp"
#include "syncfree/factor.hpp"

namespace syncfree::cuda {

/// Maxima over the rows of a factor, and operations.
///   most_lower, most_upper, most  most entries of a row of L, of U, and of both with the diagonal
///   operations                    of a factorization, as count_operations()
struct RowCounts {
  std::int64_t most_lower = 0, most_upper = 0, most = 0;
  std::int64_t operations = 0;
};

/// Arrays as in FactorPattern.
///   *_source   index of the entry of A, or -1; IC has no lower_source
///   given_row  if the rows have another order than was asked for, with the same factor: of each row, its number in
///              that one; else empty
template <class I> struct DeviceFactorPattern {
  Kind kind = Kind::ilu;
  I n = 0;
  DeviceArray<I> lower_begin, lower_column, upper_begin, upper_column;
  DeviceArray<I> lower_source, upper_source, diagonal_source;
  DeviceArray<I> given_row;
  RowCounts counts;

  DevicePattern<I> lower() const { return triangle_of(lower_begin, lower_column); }
  DevicePattern<I> upper() const { return triangle_of(upper_begin, upper_column); }
  std::size_t pattern_bytes() const
  {
    return lower_begin.bytes() + lower_column.bytes() + upper_begin.bytes() + upper_column.bytes();
  }
  std::size_t source_bytes() const { return lower_source.bytes() + upper_source.bytes() + diagonal_source.bytes(); }

private:
  DevicePattern<I> triangle_of(const DeviceArray<I>& begin, const DeviceArray<I>& column) const
  {
    return {n, static_cast<I>(column.size()), begin.data(), column.data()};
  }
};

/// Copies a pattern that was made on the host from A, which also is in host memory.
template <class I> DeviceFactorPattern<I> upload_pattern(const FactorPattern<I>& made, const PatternView<I>& A);

/// ILU(0) or IC(0) in natural order: splits the rows of A in two. Returns false if A's pattern has a fault, which
/// check_pattern() and make_factor_pattern() report, or, for IC, is not symmetric.
///   A  row offsets ascend from 0 to nnz; the columns are unchecked
///   meanwhile  host work to do while the device examines A
template <class I>
bool split(Kind kind, const DevicePattern<I>& A, DeviceFactorPattern<I>* out,
           const std::function<void()>& meanwhile = {});

/// True if the columns of each row ascend, are below n and include the diagonal; check_pattern() and
/// make_factor_pattern() report the fault. Waits.
///   A  row offsets ascend from 0 to nnz
template <class I> bool has_full_rows(const DevicePattern<I>& A);

/// ILU(0) or IC(0) of A(row_order, column_order): sorts the columns of each row in the new order and splits the row in
/// two. Returns false if an order is no permutation, if the permuted matrix lacks a diagonal entry or, for IC, if the
/// orders are two arrays or the pattern is not symmetric.
///   A       has_full_rows()
///   orders  in device memory; the same array if they are equal
///   cost    a row of m entries takes m^2 comparisons, or is sorted if it is long
template <class I>
bool split_permuted(Kind kind, const DevicePattern<I>& A, const Orders<I>& orders, DeviceFactorPattern<I>* out);

}  // namespace syncfree::cuda
