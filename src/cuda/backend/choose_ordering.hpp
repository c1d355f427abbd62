#pragma once

/// choose_ordering() (syncfree/ordering_choice.hpp) on the device. Throws Failure and std::bad_alloc.

#include "syncfree/csr.hpp"
#include "syncfree/ordering_choice.hpp"

namespace syncfree::cuda {

/// Works on the null stream, in which the arrays are ready.
///   A          in host memory; row offsets are checked here, columns only if the choice needs them
///   on_device  the same in device memory, or empty
///   value      in device memory
template <class T, class I>
OrderingChoice choose_ordering_on_device(const PatternView<I>& A, const PatternView<I>& on_device, const T* value,
                                         const OrderingRequest& request);

}  // namespace syncfree::cuda
