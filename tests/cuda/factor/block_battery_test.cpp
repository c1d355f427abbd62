/// Block ILU on the device compared with that on the host: the patterns of the battery as patterns of points, in each
/// strategy for dense blocks, and orders of points that the caller gives.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../battery.hpp"
#include "../../host/block_task.hpp"
#include "../../watchdog.hpp"
#include "../device_support.hpp"
#include "as_on_host.hpp"
#include "syncfree/solver.hpp"

namespace syncfree {
namespace {

using Task = BlockTask<double, I>;

Task task_of(OwnedCsr<double, I> points, int size)
{
  Task task{std::move(points), size, {}};
  task.fill(12);
  return task;
}

/// Returns x of several columns, with a row after each that must keep its poison. Memory for x is poisoned, too.
std::vector<double> solved_on_device(Cuda& p, Operation op, const std::vector<double>& b, const Columns<I>& columns)
{
  const DeviceVector from(b), to(static_cast<std::size_t>(columns.count * columns.x_leading));
  p.use(Memory::device, nullptr);
  EXPECT_EQ(p.solve(op, from.data(), to.data(), columns).message(), "success");
  p.use(Memory::host, nullptr);
  return to.get();
}

/// All operations with one right-hand side and with three. A solution that is repeated has the same bits.
void expect_solves(Cuda& p, Preconditioner<double, I>& host, I n)
{
  const double poison = DeviceVector(1).get()[0];
  for (const Operation op : all_operations)
    for (const I count : {1, 3}) {
      if (short_run() && count == 1) continue;
      SCOPED_TRACE(testing::Message() << "operation " << static_cast<int>(op) << ", " << count << " columns");
      const Columns<I> columns{count, n + 2, n + 1};
      const auto b = random_vector<double>(static_cast<std::size_t>(count * columns.b_leading), 5);
      const std::vector<double> x = solved_on_device(p, op, b, columns);
      EXPECT_EQ(solved_on_device(p, op, b, columns), x);
      std::vector<double> truth(x.size());
      ASSERT_EQ(host.solve(op, b.data(), truth.data(), columns).message(), "success");
      auto values = x;
      for (auto after = static_cast<std::size_t>(n); after < x.size(); after += static_cast<std::size_t>(n) + 1) {
        EXPECT_EQ(x[after], poison) << "wrote after a column";
        values[after] = truth[after];
      }
      expect_same(values, truth, 1e-12);
    }
}

/// Factors and solves, then once more with other values.
void expect_factors(Cuda& p, Task task)
{
  for (const unsigned seed : {12u, 34u}) {
    task.fill(seed);
    const auto host = make(task, options_of(task.size));
    ASSERT_EQ(p.refresh(task.view(), PivotRule()).message(), "success");
    expect_values_of_host<double, I>(p, *host, 1e-12);
    expect_solves(p, *host, task.rows());
    if (testing::Test::HasFailure()) return;
  }
}

/// Returns whether `tiled` has a plan of these points: they are a grid.
bool has_tiles(const std::string& name, int size) { return name == "poisson_ilu0" && size <= 6; }

/// Entries called growth have the pattern of `chain`. The largest has one size only; under a sanitizer rows are few.
bool is_taken(const BatteryEntry& entry, I n, int size)
{
  if (!entry.factorable || std::string(entry.name).rfind("growth", 0) == 0) return false;
  if (short_run()) return n <= 65 && (size == 2 || size == 7);
  return n <= 3000 || size == 2;
}

TEST(DeviceBlockBattery, is_factored_and_solved_as_on_the_host)
{
  int tiled = 0;
  for (const BatteryEntry& entry : battery()) {
    const auto points = make_battery_matrix<double, I>(entry.name);
    for (const int size : {2, 3, 5, 7})
      for (const std::string strategy : {"level_order", "tiled"}) {
        if (!is_taken(entry, points.n, size)) continue;
        const std::string name = std::string(entry.name) + ", size " + std::to_string(size) + ", " + strategy;
        SCOPED_TRACE(name);
        const Watchdog watchdog(name, patience);
        const Task task = task_of(points, size);
        const auto p = make_cuda_block_preconditioner<double, I>();
        const Status status = p->analyse(task.pattern.pattern(), task.symbolic(), options_of(size, strategy));
        if (strategy == "tiled" && !has_tiles(entry.name, size)) {
          EXPECT_EQ(status.code, Code::no_plan) << status.message();
          continue;
        }
        ASSERT_EQ(status.message(), "success");
        EXPECT_EQ(p->summarize().strategy, strategy);
        tiled += strategy == "tiled";
        expect_factors(*p, task);
        if (HasFailure()) return;
      }
  }
  EXPECT_EQ(tiled, short_run() ? 0 : 3);
}

/// Reverse Cuthill-McKee: by breadth from point 0, then reversed.
std::vector<I> order_by_breadth(const OwnedCsr<double, I>& points)
{
  std::vector<I> order = {0};
  std::vector<bool> is_seen(static_cast<std::size_t>(points.n));
  is_seen[0] = true;
  for (std::size_t at = 0; at < order.size(); ++at)
    for (I k = points.row_begin[order[at]]; k < points.row_begin[order[at] + 1]; ++k) {
      const I j = points.column[k];
      if (is_seen[j]) continue;
      is_seen[j] = true;
      order.push_back(j);
    }
  std::reverse(order.begin(), order.end());
  return order;
}

/// Extents of a box of points, or the place of its first one.
struct Box {
  I x, y, z;
};

/// Nested dissection of a box in a grid: both halves, then the plane between them.
void dissect(const Box& grid, const Box& from, const Box& size, std::vector<I>* order)
{
  const I most = std::max({size.x, size.y, size.z});
  if (most <= 3) {
    for (I c = from.z; c < from.z + size.z; ++c)
      for (I b = from.y; b < from.y + size.y; ++b)
        for (I a = from.x; a < from.x + size.x; ++a) order->push_back((c * grid.y + b) * grid.x + a);
    return;
  }
  I Box::*const axis = size.x == most ? &Box::x : size.y == most ? &Box::y : &Box::z;
  const auto dissect_part = [&](I begin, I end) {
    Box part_from = from, part_size = size;
    part_from.*axis += begin, part_size.*axis = end - begin;
    dissect(grid, part_from, part_size, order);
  };
  dissect_part(0, most / 2);
  dissect_part(most / 2 + 1, most);
  dissect_part(most / 2, most / 2 + 1);
}

TEST(DeviceBlockOrders, that_are_given_are_kept_as_on_the_host)
{
  const Watchdog watchdog("orders of points", patience);
  const Box grid = short_run() ? Box{4, 3, 2} : Box{7, 6, 5};
  const auto points = make_poisson<double, I>(grid.x, grid.y, grid.z);
  std::vector<I> dissected;
  dissect(grid, {0, 0, 0}, grid, &dissected);
  for (const auto& order : {order_by_breadth(points), dissected, random_order<I>(points.n, 3)})
    for (const int size : {2, 3, 5, 7})
      for (const int levels : {0, 1, 2}) {
        if (short_run() && (size != 3 || levels == 2)) continue;
        SCOPED_TRACE(testing::Message() << "first " << order[0] << ", size " << size << ", levels " << levels);
        Task task = task_of(points, size);
        task.row_order = task.column_order = order;
        task.levels = levels;
        const auto p = make_cuda_block_preconditioner<double, I>();
        ASSERT_EQ(p->analyse(points.pattern(), task.symbolic(), options_of(size, "auto")).message(), "success");
        ASSERT_TRUE(p->orders().row);
        EXPECT_TRUE(std::equal(order.begin(), order.end(), p->orders().row));
        expect_factors(*p, task);
        if (HasFailure()) return;
      }
}

}  // namespace
}  // namespace syncfree
