#pragma once

/// Arrays of the size of a factor. Their first touch is a good part of the first
/// factorization: with pages of 4 KiB the kernel is entered once for every 512 numbers.

#include <cstdint>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace syncfree {

/// Asks for large pages under the memory [begin, begin + bytes), which nobody has touched yet. A hint.
inline void prefer_large_pages(void* begin, std::size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t page = 4096;
  constexpr std::size_t least = std::size_t(4) << 20;  // two large pages
  if (bytes < least) return;
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
  (void)begin, (void)bytes;
#endif
}

/// v->resize(size) for an array that may be large. Throws std::bad_alloc.
template <class V> void resize_large(std::vector<V>* v, std::size_t size)
{
  if (size > v->capacity()) {
    v->reserve(size);
    if (v->empty()) prefer_large_pages(v->data(), size * sizeof(V));
  }
  v->resize(size);
}

}  // namespace syncfree
