#pragma once

/// Trace: a loop body runs once for every iteration with an accessor that records which entries it reads, writes and
/// adds to. No values are read and nothing is computed: a traced value is empty.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "syncfree/loop/body.hpp"
#include "syncfree/status.hpp"

namespace syncfree {

/// Bit mask of what an iteration does to an entry.
using Access = unsigned char;
inline constexpr Access reads = 1, writes = 2, adds = 4;

/// The accesses of every iteration to one InOut array. Iteration i accesses
///   location[k] as in access[k], for begin[i] <= k < begin[i + 1]; locations ascend and are distinct
template <class I> struct ArrayTrace {
  std::string name;
  std::int64_t length = 0;
  std::int64_t place = 0;  ///< from place_in()
  std::vector<std::int64_t> begin{0};
  std::vector<I> location;
  std::vector<Access> access;
};

/// Without Input arrays, as no wait is needed for what is never written, and without arrays that no iteration
/// accessed.
template <class I> struct LoopTrace {
  I iterations = 0;
  std::vector<ArrayTrace<I>> arrays;

  /// Returns the array of that name, nullptr if it was not accessed.
  const ArrayTrace<I>* find(const std::string& name) const
  {
    for (const ArrayTrace<I>& array : arrays)
      if (array.name == name) return &array;
    return nullptr;
  }
};

/// A value of which nothing is known. It allows neither comparison nor conversion, so a body whose accesses depend on
/// values does not compile.
template <class T> struct TracedNumber {
  TracedNumber() = default;
  template <class S, class = std::enable_if_t<std::is_constructible_v<T, S>>> SYNCFREE_HD TracedNumber(const S&) {}

  SYNCFREE_HD friend TracedNumber operator+(const TracedNumber&, const TracedNumber&) { return {}; }
  SYNCFREE_HD friend TracedNumber operator-(const TracedNumber&, const TracedNumber&) { return {}; }
  SYNCFREE_HD friend TracedNumber operator*(const TracedNumber&, const TracedNumber&) { return {}; }
  SYNCFREE_HD friend TracedNumber operator/(const TracedNumber&, const TracedNumber&) { return {}; }
  SYNCFREE_HD friend TracedNumber operator-(const TracedNumber&) { return {}; }
  SYNCFREE_HD friend TracedNumber sqrt(const TracedNumber&) { return {}; }
  SYNCFREE_HD TracedNumber& operator+=(const TracedNumber&) { return *this; }
  SYNCFREE_HD TracedNumber& operator-=(const TracedNumber&) { return *this; }
  SYNCFREE_HD TracedNumber& operator*=(const TracedNumber&) { return *this; }
  SYNCFREE_HD TracedNumber& operator/=(const TracedNumber&) { return *this; }
};

/// The accessor of the trace.
template <class Body, class I> class LoopTracer {
public:
  template <class T> using Number = TracedNumber<T>;

  LoopTracer(const Body* body, LoopTrace<I>* trace) : body_(body), trace_(trace) {}

  template <class T> struct Place {
    using Number = TracedNumber<T>;
    LoopTracer* tracer;
    std::size_t array;
    std::int64_t k;

    SYNCFREE_HD Number load() const { return record(reads); }
    SYNCFREE_HD void store(const Number&) const { record(writes); }
    SYNCFREE_HD void add(const Number&) const { record(adds); }
    SYNCFREE_HD Number record([[maybe_unused]] Access access) const
    {
      SYNCFREE_ON_HOST(tracer->record(array, k, access));
      return {};
    }
  };

  template <class T> struct Array {
    LoopTracer* tracer;
    std::size_t array;
    SYNCFREE_HD Element<Place<T>> operator[](std::int64_t k) const
    {
      return Element<Place<T>>(Place<T>{tracer, array, k});
    }
  };

  template <class T> struct Constants {
    LoopTracer* tracer;
    const char* name;
    std::int64_t length;
    SYNCFREE_HD const TracedNumber<T> operator[]([[maybe_unused]] std::int64_t k) const
    {
      SYNCFREE_ON_HOST(tracer->is_inside(name, length, k));
      return {};
    }
  };

  template <class V, class T> SYNCFREE_HD Constants<T> operator[](const Input<V, T>& a)
  {
    return {this, a.name, a.length};
  }
  template <class T> SYNCFREE_HD Array<T> operator[](const InOut<T>& a)
  {
    std::size_t array = 0;
    SYNCFREE_ON_HOST(array = array_of(place_in(body_, a), a));
    return {this, array};
  }

  /// Called before and after the body has run for iteration i; the second returns the failure, if any.
  void begin_iteration(I i) { iteration_ = i; }
  const Status& end_iteration()
  {
    for (ArrayTrace<I>& array : trace_->arrays) sort_last(&array);
    return failure_;
  }

private:
  template <class T> std::size_t array_of(std::int64_t place, const InOut<T>& a)
  {
    for (std::size_t k = 0; k < trace_->arrays.size(); ++k)
      if (trace_->arrays[k].place == place) return k;
    if (place < 0) fail(0, std::string("array ") + a.name + " is not a member of the loop body");
    ArrayTrace<I> array;
    array.name = a.name;
    array.length = a.length;
    array.place = place;
    array.begin.assign(static_cast<std::size_t>(iteration_) + 1, 0);
    trace_->arrays.push_back(std::move(array));
    return trace_->arrays.size() - 1;
  }

  void record(std::size_t k, std::int64_t location, Access access)
  {
    ArrayTrace<I>& array = trace_->arrays[k];
    if (!is_inside(array.name.c_str(), array.length, location)) return;
    array.location.push_back(static_cast<I>(location));
    array.access.push_back(access);
  }

  bool is_inside(const char* name, std::int64_t length, std::int64_t k)
  {
    const bool inside = k >= 0 && k < length;
    if (!inside) fail_outside(name, length, k);
    return inside;
  }

  void fail_outside(const std::string& name, std::int64_t length, std::int64_t k)
  {
    fail(k, "iteration " + std::to_string(iteration_) + " of a loop accesses " + name + "[" + std::to_string(k) +
                "], but " + name + " has " + std::to_string(length) + " entries");
  }

  void fail(std::int64_t k, std::string words)
  {
    if (!failure_.ok()) return;
    failure_.code = Code::invalid_argument;
    failure_.detail = std::move(words);
    failure_.row = iteration_;
    failure_.column = k;
  }

  /// Sorts and merges what this iteration did to an array, each location once.
  void sort_last(ArrayTrace<I>* array)
  {
    const auto begin = static_cast<std::size_t>(array->begin.back());
    bool sorted = true;
    for (std::size_t k = begin + 1; k < array->location.size(); ++k)
      sorted = sorted && array->location[k - 1] < array->location[k];
    if (!sorted) merge_last(begin, array);
    array->begin.push_back(static_cast<std::int64_t>(array->location.size()));
  }

  void merge_last(std::size_t begin, ArrayTrace<I>* array)
  {
    std::vector<I>& location = array->location;
    std::vector<Access>& access = array->access;
    sorted_.clear();
    for (std::size_t k = begin; k < location.size(); ++k) sorted_.push_back({location[k], access[k]});
    std::sort(sorted_.begin(), sorted_.end(), [](const Touch& a, const Touch& b) { return a.location < b.location; });
    location.resize(begin);
    access.resize(begin);
    for (const Touch& touch : sorted_) {
      if (location.size() == begin || location.back() != touch.location) {
        location.push_back(touch.location);
        access.push_back(0);
      }
      access.back() |= touch.access;
    }
  }

  struct Touch {
    I location;
    Access access;
  };

  const Body* body_;
  LoopTrace<I>* trace_;
  I iteration_ = 0;
  Status failure_;
  std::vector<Touch> sorted_;
};

/// Iteration type of a body.
template <class Body> using index_of = decltype(std::declval<const Body&>().iterations());

/// Runs a body with the tracer, for every iteration in order.
///   body    its index arrays are read; of its other arrays only the lengths
///   trace   [out] unspecified on failure
///   errors  invalid_argument (row: the iteration, column: the index) for an access outside an array, with the
///           array's name in the message; out_of_memory
///   cost    O(accesses), where the accesses of an iteration are sorted if it does not make them in ascending order
///   source  Somo and Cheshmi, Sync-Free GPU Parallelization of Sparse Kernels from Sequential Python Code, SC25
template <class Body, class I> Status trace_loop(const Body& body, LoopTrace<I>* trace)
try {
  *trace = LoopTrace<I>();
  trace->iterations = body.iterations();
  LoopTracer<Body, I> tracer(&body, trace);
  for (I i = 0; i < trace->iterations; ++i) {
    tracer.begin_iteration(i);
    body(tracer, i);
    const Status& status = tracer.end_iteration();
    if (!status.ok()) return status;
  }
  return {};
} catch (const std::bad_alloc&) {
  return failed(Code::out_of_memory);
}

/// Location factor * i + offset for every iteration i.
struct Affine {
  bool holds = false;
  std::int64_t factor = 0, offset = 0;
};

/// Tests whether every iteration accesses exactly one location in any of the ways of `access`, and an affine one.
///   cost  O(accesses)
template <class I> Affine find_affine(const ArrayTrace<I>& array, Access access)
{
  Affine affine;
  const std::size_t iterations = array.begin.size() - 1;
  for (std::size_t i = 0; i < iterations; ++i) {
    std::int64_t count = 0, location = 0;
    for (std::int64_t k = array.begin[i]; k < array.begin[i + 1]; ++k)
      if (array.access[k] & access) ++count, location = array.location[k];
    if (i == 0) affine.offset = location;
    if (i == 1) affine.factor = location - affine.offset;
    if (count != 1 || location != affine.offset + affine.factor * static_cast<std::int64_t>(i)) return {};
  }
  affine.holds = iterations > 0;
  return affine;
}

}  // namespace syncfree
