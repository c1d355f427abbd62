#pragma once

/// Guard for objects that one thread at a time may call. A second thread that calls during a call is rejected before
/// it changes anything: on a device, two concurrent solves of one object would wait for each other's values for ever.

#include <atomic>

#include "syncfree/status.hpp"

namespace syncfree {

class CallGuard {
public:
  CallGuard() = default;
  CallGuard(CallGuard&&) noexcept {}  ///< no call may be in progress on an object that is moved
  CallGuard& operator=(CallGuard&&) noexcept { return *this; }

  /// A call of the object, from construction to destruction; alone() is false if another call is in progress.
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

  /// Runs the body for one thread at a time; busy if another call is in progress, or if it has disturbed set_alone().
  template <class Body> Status execute_alone(Body body)
  {
    const Call call(this);
    if (!call.alone() || disturbed_.exchange(false)) return failed(Code::busy);
    return body();
  }

  /// Runs the body, which changes a setting and has no Status. Rejected during a call: the next call is then busy.
  template <class Body> void set_alone(Body body)
  {
    const Call call(this);
    if (call.alone()) body();
    else disturbed_ = true;
  }

private:
  std::atomic<bool> under_way_{false};
  std::atomic<bool> disturbed_{false};  ///< set_alone() was rejected
};

}  // namespace syncfree
