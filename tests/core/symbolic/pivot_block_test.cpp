/// Inverted pivot blocks: the product with the block is the identity, pivots come from all rows of the block, and a
/// pivot that is 0 is shifted or refused by PETSc's rule.

#include "core/symbolic/pivot_block.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "battery.hpp"
#include "larger.hpp"
#include "types.hpp"

namespace syncfree {
namespace {

/// A block and the result of its inversion.
template <class T> struct Inverted {
  int n;
  std::vector<T> block, inverse;
  int index = -1, shifted = 0;

  template <int fixed> Inverted& invert(double shift_amount, Shift type = Shift::none, bool natural = true)
  {
    PivotRule rule;
    rule.shift = type;
    rule.shift_amount = shift_amount;
    std::vector<T> factor(n);
    std::vector<int> row(n);
    inverse = block;
    const real_t<T> shift = pivot_block_shift(block.data(), n, rule, natural);
    index = invert_pivot_block<fixed>(inverse.data(), n, shift, factor.data(), row.data(), &shifted);
    return *this;
  }

  /// The largest modulus of block * inverse - identity.
  double error() const
  {
    double worst = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        T sum(i == j ? -1 : 0);
        for (int k = 0; k < n; ++k) sum += block[k * n + i] * inverse[j * n + k];
        const double modulus = static_cast<double>(std::abs(sum));
        worst = larger(worst, modulus);
      }
    return worst;
  }
};

template <class T> Inverted<T> random_block(int n, unsigned seed)
{
  return {n, random_vector<T>(static_cast<std::size_t>(n * n), seed), {}};
}

template <class T> class PivotBlock : public testing::Test {};
TYPED_TEST_SUITE(PivotBlock, Scalars);

TYPED_TEST(PivotBlock, times_its_inverse_is_the_identity)
{
  using T = TypeParam;
  const double eps = std::numeric_limits<real_t<T>>::epsilon();
  for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 11, 20})
    for (unsigned seed = 1; seed <= 20; ++seed) {
      auto made = random_block<T>(n, seed);
      for (int k = 0; k < n; ++k) made.block[k * n + k] *= T(0.001f);  // pivots come from other rows
      EXPECT_EQ(made.template invert<0>(0).index, n);
      double largest = 0;
      for (const T& v : made.inverse) largest = std::max(largest, static_cast<double>(std::abs(v)));
      EXPECT_LT(made.error(), 20 * n * eps * largest) << n << " " << seed;
      EXPECT_EQ(made.shifted, 0);
    }
}

TYPED_TEST(PivotBlock, has_the_same_inverse_where_the_compiler_knows_its_size)
{
  using T = TypeParam;
  auto made = random_block<T>(5, 3);
  const auto by_any = made.template invert<0>(0).inverse;
  EXPECT_EQ(made.template invert<5>(0).inverse, by_any);
}

/// (0 1; 1 0) has no pivot on its diagonal.
TYPED_TEST(PivotBlock, of_zeros_on_the_diagonal_takes_its_pivots_from_other_rows)
{
  using T = TypeParam;
  Inverted<T> made = {2, {T(0), T(1), T(1), T(0)}, {}};
  EXPECT_EQ(made.template invert<2>(1e-5).index, 2);
  EXPECT_EQ(made.inverse, made.block);
  EXPECT_EQ(made.shifted, 0);
}

/// The first column of (0 0; 0 1) is 0. PETSc puts 0.25 amount (1e-12 + 1) in its place.
TYPED_TEST(PivotBlock, is_shifted_as_in_petsc)
{
  using T = TypeParam;
  Inverted<T> made = {2, {T(0), T(0), T(0), T(1)}, {}};
  EXPECT_EQ(made.template invert<2>(1e-3).index, 2);
  EXPECT_EQ(made.shifted, 1);
  EXPECT_NEAR(static_cast<double>(real_part(made.inverse[0])), 4000, 1);
  EXPECT_EQ(made.inverse[3], T(1));
  Inverted<T> of_three = {3, {T(0), T(0), T(0), T(0), T(2), T(0), T(0), T(0), T(2)}, {}};
  EXPECT_EQ(of_three.template invert<0>(1e-3).index, 3);
  EXPECT_NEAR(static_cast<double>(real_part(of_three.inverse[0])), 1 / (0.333e-3 * 4), 1);
}

/// PETSc's own kernel for 15 serves the natural order only, and shifts; the others for more than 7 do not.
TYPED_TEST(PivotBlock, of_fifteen_is_shifted_in_natural_order_only)
{
  for (int n : {8, 14, 15, 16})
    for (bool natural : {true, false}) {
      auto zero_column = random_block<TypeParam>(n, 5);
      std::fill_n(zero_column.block.begin(), n, TypeParam(0));
      const bool shifts = n == 15 && natural;
      EXPECT_EQ(zero_column.template invert<0>(1e-3, Shift::none, natural).index, shifts ? n : 0) << n;
      EXPECT_EQ(zero_column.shifted, shifts ? 1 : 0) << n;
    }
}

/// In a block of 4 PETSc asks for the shift type.
TYPED_TEST(PivotBlock, of_four_is_shifted_with_the_type_inblocks_only)
{
  using T = TypeParam;
  for (int n : {2, 3, 4, 5, 6, 7})
    for (Shift type : {Shift::none, Shift::inblocks}) {
      auto zero_column = random_block<T>(n, 5);
      std::fill_n(zero_column.block.begin(), n, T(0));
      const bool shifts = n != 4 || type == Shift::inblocks;
      EXPECT_EQ(zero_column.template invert<0>(1e-3, type).index, shifts ? n : 0) << n;
      EXPECT_EQ(zero_column.shifted, shifts ? 1 : 0) << n;
    }
}

TYPED_TEST(PivotBlock, is_singular_without_a_shift_or_where_the_last_pivot_is_zero)
{
  using T = TypeParam;
  Inverted<T> first = {2, {T(0), T(0), T(0), T(1)}, {}}, last = {2, {T(1), T(0), T(0), T(0)}, {}};
  EXPECT_EQ(first.template invert<2>(0).index, 0);
  EXPECT_EQ(last.template invert<2>(1e-3).index, 1);
  for (int n : {1, 8, 9, 11}) {  // PETSc does not shift these
    auto zero_column = random_block<T>(n, 5);
    std::fill_n(zero_column.block.begin(), n, T(0));
    EXPECT_EQ(zero_column.template invert<0>(1e-3).index, 0) << n;
  }
}

TYPED_TEST(PivotBlock, keeps_a_nan)
{
  using T = TypeParam;
  for (int n : {1, 2, 5})
    for (int k = 0; k < n * n; ++k) {
      auto made = random_block<T>(n, 7);
      made.block[k] = std::numeric_limits<real_t<T>>::quiet_NaN();
      made.template invert<0>(1e-3);
      EXPECT_TRUE(std::any_of(made.inverse.begin(), made.inverse.end(), [](const T& v) { return !is_finite(v); }));
    }
}

}  // namespace
}  // namespace syncfree
