#pragma once

/// choose_ordering() (syncfree/ordering_choice.hpp) on the device. Throws Failure and std::bad_alloc.

#include <memory>

#include "cuda/backend/prepared.hpp"
#include "syncfree/csr.hpp"
#include "syncfree/ordering_choice.hpp"
#include "syncfree/solver.hpp"

namespace syncfree::cuda {

/// Values in host or device memory; those in host memory are copied if the choice needs them.
template <class T> struct ValuesToChooseBy {
  const T* value;
  bool on_device;
};

/// Works on the null stream, in which the arrays are ready.
///   A          in host memory; row offsets are checked here, columns only if the choice needs them
///   on_device  the same in device memory, or empty
///   prepared   [out] what an analysis of these arrays need not make again; nullptr: nothing
template <class T, class I>
Status choose_ordering_on_device(const PatternView<I>& A, const PatternView<I>& on_device,
                                 const ValuesToChooseBy<T>& values, const OrderingRequest& request,
                                 OrderingChoice* out, std::unique_ptr<PreparedMatrix<I>>* prepared);

}  // namespace syncfree::cuda
