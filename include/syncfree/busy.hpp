#pragma once

/// An object is for one thread at a time. A second thread that calls it during a call is turned away, before it does
/// harm: on a device two solves of one object at once would wait for each other's numbers for ever.

#include <atomic>

#include "syncfree/status.hpp"

namespace syncfree {

class CallGuard {
public:
  CallGuard() = default;
  CallGuard(CallGuard&&) noexcept {}  ///< who moves an object calls nothing of it meanwhile
  CallGuard& operator=(CallGuard&&) noexcept { return *this; }

  /// From its begin to its end, unless another one is under way.
  class Call {
  public:
    explicit Call(CallGuard* object) : object_(object->under_way_.exchange(true) ? nullptr : object) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call()
    {
      if (object_) object_->under_way_ = false;
    }
    bool alone() const { return object_ != nullptr; }

  private:
    CallGuard* object_;
  };

private:
  std::atomic<bool> under_way_{false};
};

}  // namespace syncfree
