#pragma once

/// Takes the place of the header that mailboxes.cuh includes.

namespace syncfree::cuda {
template <class T> using ColumnPackOf = T;
template <class T, class P, template <class> class Box> struct ColumnLaunches;
}  // namespace syncfree::cuda
