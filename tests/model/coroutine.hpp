#pragma once

/// A function with a stack of its own, which stops and goes on where its host wishes. It may be left in the middle:
/// what its stack holds is then forgotten, without destructors.

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace syncfree::model {

class Coroutine {
public:
  /// Sets what the next resume() begins.
  void set_body(std::function<void()> body)
  {
    body_ = std::move(body);
    fresh_ = true;
    finished_ = false;
  }
  bool fresh() const { return fresh_; }
  bool finished() const { return finished_; }

  /// Goes on until the function stops or ends. setcontext() asks the system, so it is left to the first time.
  void resume()
  {
    if (_setjmp(host_) != 0) return;
    if (!fresh_ || parked_) {
      fresh_ = parked_ = false;
      _longjmp(inside_, 1);
    }
    fresh_ = false;
    if (!stack_) stack_.reset(new char[stack_bytes]);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack_.get();
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = nullptr;
    started_ = this;
    makecontext(&context, serve, 0);
    setcontext(&context);
  }

  /// Returns to the host until it resumes; called from within.
  void stop()
  {
    if (_setjmp(inside_) == 0) _longjmp(host_, 1);
  }

private:
  static void serve()
  {
    Coroutine* const self = started_;
    for (;;) {
      self->body_();
      self->finished_ = self->parked_ = true;
      self->stop();
    }
  }

  static constexpr std::size_t stack_bytes = 1 << 16;
  inline static Coroutine* started_ = nullptr;

  std::function<void()> body_;
  std::unique_ptr<char[]> stack_;
  jmp_buf host_, inside_;
  bool fresh_ = false, finished_ = true;
  bool parked_ = false;  ///< between two functions
};

}  // namespace syncfree::model
