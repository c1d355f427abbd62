/// Host copies of a triangle's data, made on demand.

#include "cuda/analysis/triangle.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/support/instantiate.hpp"
#include "cuda/analysis/levels.hpp"
#include "syncfree/array.hpp"
#include "syncfree/schedule.hpp"

namespace syncfree::cuda {

template <class I> struct DeviceTriangle<I>::OnHost {
  PatternView<I> pattern = {};
  bool has_pattern = false;
  Array<I> begin, column;
  LevelSets<I> levels;
  std::vector<I> level_begin;  ///< if the levels themselves were not asked for
};

template <class I>
DeviceTriangle<I>::DeviceTriangle(bool lower, const PatternView<I>& pattern, const I* source, bool unit)
    : lower(lower), unit(unit), source(source), host_(std::make_shared<OnHost>()), n_(pattern.n), nnz_(pattern.nnz())
{
  show(pattern);
}

template <class I>
DeviceTriangle<I>::DeviceTriangle(bool lower, const DevicePattern<I>& on_device, std::int64_t longest, bool unit)
    : lower(lower), unit(unit), on_device(on_device), host_(std::make_shared<OnHost>()), n_(on_device.n),
      nnz_(on_device.nnz), longest_(longest)
{
}

template <class I> void DeviceTriangle<I>::show(const PatternView<I>& pattern)
{
  host_->pattern = pattern;
  host_->has_pattern = true;
}

template <class I> void DeviceTriangle<I>::show_levels(LevelSets<I> levels) { host_->levels = std::move(levels); }

template <class I> const PatternView<I>& DeviceTriangle<I>::pattern() const
{
  OnHost& host = *host_;
  if (host.has_pattern) return host.pattern;
  host.begin.resize(static_cast<std::size_t>(n_) + 1);
  host.column.resize(static_cast<std::size_t>(nnz_));
  copy_to_host(host.begin.data(), on_device.row_begin, host.begin.size());
  copy_to_host(host.column.data(), on_device.column, host.column.size());
  host.pattern = {n_, host.begin.data(), host.column.data()};
  host.has_pattern = true;
  return host.pattern;
}

template <class I> const LevelSets<I>& DeviceTriangle<I>::levels() const
{
  LevelSets<I>& levels = host_->levels;
  if (levels.count > 0 || n_ == 0) return levels;
  if (device_levels) {
    levels = download(*device_levels);
  } else {
    const Status status = make_level_sets(pattern(), lower, &levels);
    if (!status.ok()) throw Failure{status};
  }
  return levels;
}

template <class I> I DeviceTriangle<I>::level_count() const
{
  return device_levels ? device_levels->count : levels().count;
}

template <class I> std::vector<I> DeviceTriangle<I>::level_begins() const
{
  if (!device_levels || host_->levels.count > 0) return {levels().level_begin.begin(), levels().level_begin.end()};
  if (host_->level_begin.empty()) {
    std::vector<I> begin(device_levels->begin.size());
    device_levels->begin.read(begin.data(), 0, begin.size(), nullptr);
    host_->level_begin = std::move(begin);
  }
  return host_->level_begin;
}

template <class I> DeviceArray<I> DeviceTriangle<I>::rows_in_level_order() const
{
  if (positions && !positions->row.empty()) return std::move(positions->row);
  return device_levels ? copy_of(device_levels->row) : DeviceArray<I>(levels().row);
}

template <class I> DeviceArray<I> DeviceTriangle<I>::positions_in_level_order(const I* order) const
{
  const bool has_positions = positions && !positions->position.empty();
  return has_positions ? std::move(positions->position) : inverse_permutation(n_, order);
}

template <class I> std::int64_t DeviceTriangle<I>::longest() const
{
  if (longest_ >= 0) return longest_;
  const PatternView<I>& p = pattern();
  longest_ = 0;
  for (I i = 0; i < n_; ++i) longest_ = std::max<std::int64_t>(longest_, p.row_begin[i + 1] - p.row_begin[i]);
  return longest_;
}

#define INSTANTIATE(I) template class DeviceTriangle<I>;
SYNCFREE_FOR_EACH_INDEX(INSTANTIATE)

}  // namespace syncfree::cuda
