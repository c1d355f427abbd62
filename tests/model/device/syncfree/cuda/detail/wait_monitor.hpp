#pragma once

/// Takes the place of the header that mailboxes.cuh includes.

#include <cstddef>

namespace syncfree::cuda {
template <class T> class ResettableArray {
public:
  ResettableArray(std::size_t n, int byte);
  T* data() const;
  std::size_t bytes() const;
};
}  // namespace syncfree::cuda
