#pragma once

/// Reference sweeps, for the tests of every backend.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "battery.hpp"
#include "no_plan.hpp"
#include "syncfree/relaxation.hpp"

namespace syncfree {

/// The textbook's loop; the dense block of a node is solved by elimination.
template <class T, class I> class Textbook {
public:
  Textbook(const OwnedCsr<T, I>& A, std::vector<I> node_begin, double omega, double shift)
      : A_(A), node_(std::move(node_begin)), omega_(static_cast<real_t<T>>(omega)),
        shift_(static_cast<real_t<T>>(shift))
  {
    if (node_.empty())
      for (I i = 0; i <= A.n; ++i) node_.push_back(i);
  }

  void relax(Sweep sweep, bool from_zero, I times, const std::vector<T>& b, std::vector<T>* x) const
  {
    if (from_zero) x->assign(b.size(), T(0));
    const I nodes = static_cast<I>(node_.size()) - 1;
    for (I t = 0; t < times; ++t) {
      for (I k = 0; sweep != Sweep::backward && k < nodes; ++k) relax_node(node_[k], node_[k + 1], b, x);
      for (I k = nodes; sweep != Sweep::forward && k > 0; --k) relax_node(node_[k - 1], node_[k], b, x);
    }
  }

private:
  void relax_node(I begin, I end, const std::vector<T>& b, std::vector<T>* x) const
  {
    const std::size_t size = static_cast<std::size_t>(end - begin);
    std::vector<std::vector<T>> D(size, std::vector<T>(size + 1, T(0)));
    for (I i = begin; i < end; ++i) {
      D[i - begin][size] = b[i];
      for (I k = A_.row_begin[i]; k < A_.row_begin[i + 1]; ++k) {
        const I j = A_.column[k];
        if (j >= begin && j < end) D[i - begin][j - begin] = A_.value[k] + (i == j ? T(shift_) : T(0));
        else D[i - begin][size] -= A_.value[k] * (*x)[j];
      }
    }
    for (std::size_t p = 0; p < size; ++p)
      for (std::size_t i = p + 1; i < size; ++i) {
        const T factor = D[i][p] / D[p][p];
        for (std::size_t j = p; j <= size; ++j) D[i][j] -= factor * D[p][j];
      }
    std::vector<T> solution(size);
    for (std::size_t i = size; i-- > 0;) {
      T sum = D[i][size];
      for (std::size_t j = i + 1; j < size; ++j) sum -= D[i][j] * solution[j];
      solution[i] = sum / D[i][i];
    }
    for (std::size_t i = 0; i < size; ++i)
      (*x)[begin + i] = (T(1) - T(omega_)) * (*x)[begin + i] + T(omega_) * solution[i];
  }

  const OwnedCsr<T, I>& A_;
  std::vector<I> node_;
  real_t<T> omega_, shift_;
};

template <class T> void expect_close(const std::vector<T>& x, const std::vector<T>& expected)
{
  real_t<T> largest = 0;
  for (const T& v : expected) largest = std::max(largest, std::abs(v));
  const real_t<T> most = 2000 * std::numeric_limits<real_t<T>>::epsilon() * largest;
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::abs(x[i] - expected[i]), most) << "row " << i;
}

/// Compares all sweeps, from zero and from given values, with the textbook's.
template <class T, class I>
void expect_sweeps(Relaxation<T, I>* relaxation, const OwnedCsr<T, I>& A, const std::vector<I>& nodes, double omega,
                   double shift, const SolverOptions& options)
{
  SCOPED_TRACE(testing::Message() << options.strategy << ", omega " << omega << ", shift " << shift);
  Status status = relaxation->analyse(A.pattern(), nodes, options);
  if (has_no_plan(options.strategy, status)) return;
  ASSERT_TRUE(status.ok()) << status.message();
  status = relaxation->refresh(A.view(), omega, shift, 0);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(relaxation->summarize().strategy, options.strategy);
  const Textbook<T, I> textbook(A, nodes, omega, shift);
  const std::vector<T> b = random_vector<T>(A.n, 3);
  for (const Sweep sweep : {Sweep::forward, Sweep::backward, Sweep::symmetric})
    for (const auto& [from_zero, times] : {std::pair<bool, I>{true, 1}, {true, 3}, {false, 1}}) {
      SCOPED_TRACE(testing::Message() << "sweep " << static_cast<int>(sweep) << (from_zero ? " from zero" : "")
                                      << ", times " << times);
      std::vector<T> expected = random_vector<T>(A.n, 4), x = expected;
      if (from_zero) x.assign(A.n, T(std::numeric_limits<real_t<T>>::quiet_NaN()));
      textbook.relax(sweep, from_zero, times, b, &expected);
      EXPECT_TRUE(relaxation->relax(sweep, from_zero, times, b.data(), x.data()).ok());
      expect_close(x, expected);
    }
}

}  // namespace syncfree
