/// Host copies of a triangle's data, made on demand.

#include "cuda/analysis/triangle.hpp"

#include <algorithm>

#include "core/support/instantiate.hpp"

namespace syncfree::cuda {

template <class I> const PatternView<I>& DeviceTriangle<I>::pattern() const
{
  if (fetched_) return pattern_;
  begin_.resize(static_cast<std::size_t>(n_) + 1);
  column_.resize(static_cast<std::size_t>(nnz_));
  copy_to_host(begin_.data(), on_device.row_begin, begin_.size());
  copy_to_host(column_.data(), on_device.column, column_.size());
  pattern_ = {n_, begin_.data(), column_.data()};
  fetched_ = true;
  return pattern_;
}

template <class I> const LevelSets<I>& DeviceTriangle<I>::levels() const
{
  if (levels_.count > 0 || n_ == 0) return levels_;
  if (device_levels) {
    levels_ = download(*device_levels);
  } else {
    const Status status = make_level_sets(pattern(), lower, &levels_);
    if (!status.ok()) throw Failure{status};
  }
  return levels_;
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
