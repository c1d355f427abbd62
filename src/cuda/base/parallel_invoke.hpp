#pragma once

/// Concurrent host tasks for one device.

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <vector>

#include "core/support/parallel.hpp"
#include "syncfree/cuda/detail/device.hpp"
#include "syncfree/cuda/detail/wait_monitor.hpp"
#include "syncfree/status.hpp"

namespace syncfree::cuda {

/// Runs all tasks concurrently; if some fail, throws the failure of the first of them in list order.
inline void parallel_invoke(int threads, const std::vector<std::function<void()>>& works)
{
  std::vector<Status> status(works.size());
  int device;
  SYNCFREE_CUDA(cudaGetDevice(&device));
  const std::shared_ptr<WaitMonitor> watch = WaitMonitor::at_hand();
  for_parts(threads, works.size(), [&](std::size_t t) {
    const WaitMonitor::Use use(watch);
    try {
      SYNCFREE_CUDA(cudaSetDevice(device));  // the current device is per thread
      works[t]();
    } catch (const Failure& failure) {
      status[t] = failure.status;
    }
  });
  for (const Status& one : status)
    if (!one.ok()) throw Failure{one};
}

}  // namespace syncfree::cuda
