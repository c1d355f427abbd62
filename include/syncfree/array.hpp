#pragma once

/// Arrays of the size of a factor. To set new entries to zero, as std::vector does, costs a large part of a set-up,
/// and so does the first access to memory in 4 KiB pages.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace syncfree {

/// Requests huge pages for the memory [begin, begin + bytes), which must not have been accessed yet. A hint.
inline void prefer_large_pages(void* begin, std::size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t page = 4096;
  constexpr std::size_t least = std::size_t(4) << 20;  // two huge pages
  if (bytes < least) return;
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
  (void)begin, (void)bytes;
#endif
}

/// The standard allocator, except that entries without a value are left uninitialized and large arrays request huge
/// pages.
template <class V> class UnsetAllocator {
public:
  using value_type = V;

  UnsetAllocator() = default;
  template <class U> UnsetAllocator(const UnsetAllocator<U>&) noexcept {}

  V* allocate(std::size_t count)
  {
    V* begin = std::allocator<V>().allocate(count);
    prefer_large_pages(begin, count * sizeof(V));
    return begin;
  }
  void deallocate(V* begin, std::size_t count) noexcept { std::allocator<V>().deallocate(begin, count); }

  template <class U> void construct(U*) noexcept { static_assert(std::is_trivially_copyable_v<U>); }
  template <class U, class... Arguments> void construct(U* place, Arguments&&... arguments)
  {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }

  friend bool operator==(const UnsetAllocator&, const UnsetAllocator&) { return true; }
  friend bool operator!=(const UnsetAllocator&, const UnsetAllocator&) { return false; }
};

/// A vector of scalars or indices whose resize() leaves new entries uninitialized.
template <class V> using Array = std::vector<V, UnsetAllocator<V>>;

}  // namespace syncfree
