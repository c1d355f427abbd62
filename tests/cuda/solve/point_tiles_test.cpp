/// Solves with dense blocks by tiles of a grid's points.

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../types.hpp"
#include "../../watchdog.hpp"
#include "../device_patterns.hpp"
#include "../device_support.hpp"
#include "cuda/analysis/levels.hpp"
#include "dense_solves.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"

namespace syncfree::cuda {
namespace {

/// A triangle in device memory, with what the analysis knows of it.
template <class T, class I> class Analysed {
public:
  explicit Analysed(const BlockTriangle<T, I>& t, std::optional<Grid<I>> grid = {})
      : pattern_(t.pattern), triangle_(t.lower, pattern_.view(), longest(t.pattern), t.unit)
  {
    triangle_.show(t.pattern.view());
    triangle_.grid = grid ? *grid : find_grid(t.pattern.view(), t.lower);
    triangle_.block_size = t.size;
    constexpr std::uint64_t minute = 60'000'000'000;  // a tool may slow the search down
    EXPECT_TRUE(find_levels(pattern_.view(), t.lower, triangle_.grid, &levels_, nullptr, minute));
    triangle_.device_levels = &levels_;
  }

  template <class V> std::unique_ptr<DeviceSolver<T, I>> tiles() const
  {
    return make_point_tiles_solver<T, V>(triangle_);
  }
  template <class V> bool may_have_tiles() const { return may_tile_points<T, V>(triangle_); }

private:
  static std::int64_t longest(const OwnedPattern<I>& A)
  {
    I most = 0;
    for (I i = 0; i < A.n; ++i) most = std::max(most, A.row_begin[i + 1] - A.row_begin[i]);
    return most;
  }

  OnDevice<I> pattern_;
  DeviceLevels<I> levels_;
  DeviceTriangle<I> triangle_;
};

template <class T, class V, class I> void expect_tiles(BlockTriangle<T, I> t)
{
  const Analysed<T, I> analysed(t);
  auto made = analysed.template tiles<V>();
  ASSERT_TRUE(made);
  const std::string text = made->summarize_plan().text;
  EXPECT_NE(text.find(" tiles of "), std::string::npos) << text;
  Solves<T, V, I> solves(t, std::move(made));
  solves.expect_solutions();
  t.draw_values(7);
  solves.refresh(t);
  solves.expect_solutions();
}

template <class Type> class PointTiles : public testing::Test {};
TYPED_TEST_SUITE(PointTiles, EachScalar);

/// Several tiles, with whole and partial ones; 2, 3, 4 or 13 operands.
TYPED_TEST(PointTiles, have_small_residuals)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("tiles of points", 300);
  struct Shape {
    I x, y, z;
    bool box;
  };
  const I more = short_run() ? 0 : 9;
  const Shape shapes[] = {{9, 8, 7, false}, {I(10 + more), 9, 8, true}, {I(30 + more), 21, 1, false},
                          {I(17 + more), 12, 1, true}, {7, I(40 + more), 3, false}};
  for (const Shape& s : shapes)
    for (const int size : {2, 3, 4, 5, 6})
      for (const bool lower : {true, false})
        for (const bool unit : {true, false}) {
          if (s.box && s.z > 1 && (size > 3 || size * sizeof(T) > 32)) continue;  // they have too many values
          if (short_run() && (unit != lower || (s.box ? size > 3 : s.z != 7))) continue;
          SCOPED_TRACE(testing::Message() << s.x << " x " << s.y << " x " << s.z << (s.box ? " box, " : " star, ")
                                          << size << (lower ? " lower" : " upper") << (unit ? " unit" : ""));
          expect_tiles<T, T>(triangle_of<T>(stencil_triangle<I>(s.x, s.y, s.z, s.box, lower), lower, unit, size));
        }
}

TYPED_TEST(PointTiles, round_to_single_storage)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("single storage of tiles", 100);
  if constexpr (!std::is_same_v<T, single_t<T>>)
    for (const int size : {2, 3, 5})
      for (const bool lower : {true, false}) {
        const bool box = size * sizeof(T) <= 32;  // larger points have no kernel for its 13 operands
        expect_tiles<T, single_t<T>>(triangle_of<T>(stencil_triangle<I>(9, 8, 7, box, lower), lower, lower, size));
      }
}

/// A tile that waits for many others, more than there are multiprocessors.
TYPED_TEST(PointTiles, wait_for_tiles_that_have_ended)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  if (short_run()) return;
  const Watchdog watchdog("many tiles", 200);
  for (const bool lower : {true, false}) {
    expect_tiles<T, T>(triangle_of<T>(stencil_triangle<I>(60, 50, 40, false, lower), lower, lower, 3));
    expect_tiles<T, T>(triangle_of<T>(stencil_triangle<I>(40, 40, 30, true, lower), lower, lower, 2));
  }
}

TYPED_TEST(PointTiles, pass_on_what_is_not_finite_and_forget_it)
{
  using T = typename TypeParam::Scalar;
  using I = typename TypeParam::Index;
  const Watchdog watchdog("NaN in tiles", 100);
  for (const int size : {2, 5}) {
    const auto t = triangle_of<T>(stencil_triangle<I>(8, 7, 6, size == 2, true), true, false, size);
    const Analysed<T, I> analysed(t);
    Solves<T, T, I> solves(t, analysed.template tiles<T>());
    const auto b = random_vector<T>(t.rows(), 5);
    const auto truth = solves.solve(b, false, false);
    T all_ones, half_ones(0);  // the NaN that says "not written yet", and one that looks so at a glance
    std::fill_n(reinterpret_cast<unsigned char*>(&all_ones), sizeof all_ones, static_cast<unsigned char>(0xff));
    std::fill_n(reinterpret_cast<unsigned char*>(&half_ones) + sizeof(real_t<T>) / 2, sizeof(real_t<T>) / 2,
                static_cast<unsigned char>(0xff));
    for (const T bad : {all_ones, half_ones, T(std::numeric_limits<real_t<T>>::infinity())}) {
      auto with_bad = b;
      with_bad[1] = bad;  // of the first point, which all others need
      const auto x = solves.solve(with_bad, false, false);
      for (std::size_t k = 0; k < x.size(); ++k) EXPECT_FALSE(std::isfinite(std::abs(x[k]))) << k;
      EXPECT_EQ(solves.solve(b, false, false), truth);
    }
  }
}

/// No plan: no grid, rows that are too long, a point that reads a later tile, blocks that are too large.
TEST(PointTilesOf, other_matrices_there_are_none)
{
  const auto none = [](const BlockTriangle<double, I>& t, std::optional<Grid<I>> grid = {}) {
    return Analysed<double, I>(t, grid).tiles<double>() == nullptr;
  };
  EXPECT_TRUE(none(triangle_of<double>(random_deep_triangle<I>(8, 150, 3, true), true, true, 3)));
  EXPECT_TRUE(none(triangle_of<double>(stencil_triangle<I>(9, 8, 7, false, true), true, true, 7)));
  EXPECT_TRUE(none(triangle_of<double>(stencil_triangle<I>(9, 8, 7, true, true), true, true, 5)));
  Grid<I> star, box;
  star.line = 12, star.lines = 40, star.planes = 20;
  box = star;
  star.star = true, box.next_line = 2, box.next_plane = 4;
  const auto with_corners = triangle_of<double>(stencil_triangle<I>(12, 40, 20, true, true), true, true, 3);
  EXPECT_FALSE(none(with_corners, box));
  EXPECT_TRUE(none(with_corners, star));  // lines of tiles are not shifted
  auto rows = std::vector<std::vector<I>>(12 * 40 * 20);
  for (I j = 0; j < 14; ++j) rows[200].push_back(j);
  EXPECT_TRUE(none(triangle_of<double>(pattern_of(rows), true, true, 3), star));
}

TEST(PointTilesOf, large_grids_are_predicted_to_be_faster)
{
  const auto t = triangle_of<double>(stencil_triangle<I>(24, 24, 24, true, true), true, true, 3);
  EXPECT_TRUE((Analysed<double, I>(t).may_have_tiles<double>()));
  const auto long_rows = triangle_of<double>(random_triangle<I>(9, 60, 50, true), true, true, 3);
  EXPECT_FALSE((Analysed<double, I>(long_rows).may_have_tiles<double>()));
}

/// Without a publication the launch gives up: NaN, a report, and the next solve is as before.
TEST(PointTilesOf, a_grid_end_without_a_publication)
{
  if (std::getenv("SYNCFREE_WAIT_LIMIT")) GTEST_SKIP() << "SYNCFREE_WAIT_LIMIT is set";
  const Watchdog watchdog("a publication is missing", 60);
  const auto monitor = std::make_shared<WaitMonitor>();
  monitor->set_limit(0.2);
  const WaitMonitor::Use use(monitor);
  for (const int size : {3, 5}) {
    SCOPED_TRACE(size);
    const auto t = triangle_of<double>(stencil_triangle<I>(16, 15, 14, size == 3, true), true, true, size);
    const Analysed<double, I> analysed(t);
    Solves<double, double, I> solves(t, analysed.tiles<double>());
    const auto b = random_vector<double>(t.rows(), 5);
    const auto truth = solves.solve(b, false, false);
    ASSERT_FALSE(monitor->has_failed());
    for (const unsigned which : {1u, 700u}) {
      ASSERT_GT(WaitMonitor::drop_publication("tiled", which), 0);
      const auto without = solves.solve(b, false, false);
      EXPECT_TRUE(std::any_of(without.begin(), without.end(), [](double v) { return std::isnan(v); }));
      ASSERT_TRUE(monitor->has_failed());
      const Status status = monitor->take_failure(nullptr);
      EXPECT_EQ(status.code, Code::wait_expired);
      EXPECT_EQ(status.detail, "tiled");
      EXPECT_EQ(solves.solve(b, false, false), truth);
      EXPECT_FALSE(monitor->has_failed());
    }
  }
}

TEST(PointTilesOf, a_grid_are_captured_in_a_graph)
{
  const Watchdog watchdog("a graph", 60);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const I x = short_run() ? 7 : 14;
  const auto L = triangle_of<double>(stencil_triangle<I>(x, x - 1, x - 2, false, true), true, true, 5);
  const auto U = triangle_of<double>(stencil_triangle<I>(x, x - 1, x - 2, false, false), false, false, 5);
  const Analysed<double, I> of_L(L), of_U(U);
  Solves<double, double, I> first(L, of_L.tiles<double>()), second(U, of_U.tiles<double>());
  DeviceVector b(L.rows()), y(L.rows()), z(L.rows());
  const auto solve_both = [&] {
    solve_column<double, I>(first.solver(), b.data(), y.data(), {}, stream);
    solve_column<double, I>(second.solver(), y.data(), z.data(), {false, true}, stream);
  };
  b.set(random_vector<double>(L.rows(), 1));
  solve_both();
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  {
    const Replay replay(stream, solve_both);
    for (int round = 0; round < 4; ++round) {
      const auto rhs = random_vector<double>(L.rows(), 30 + round);
      b.set(rhs);
      z.set(std::vector<double>(L.rows(), NAN));
      replay.run();
      EXPECT_EQ(z.get(), second.solve(first.solve(rhs, false, false), false, false));
    }
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace syncfree::cuda
