/// Kokkos is started once, by its first user, and ended by the one that started it. Each test runs in a process of its
/// own, as a process can start Kokkos only once.

#include <Kokkos_Core.hpp>
#include <cstdlib>

#include "../battery.hpp"
#include "kokkos/runtime.hpp"
#include "kokkos_test.hpp"

namespace syncfree {
namespace {

Status analyse()
{
  const auto A = make_battery_matrix<double, std::int32_t>("one");
  return make_kokkos_preconditioner<double, std::int32_t>()->analyse(A.pattern(), {}, {});
}

/// Ends the process with 0, through its exit handlers, if `good`.
[[noreturn]] void end(bool good) { std::exit(good ? 0 : 1); }

class RuntimeDeathTest : public testing::Test {
protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

TEST_F(RuntimeDeathTest, is_started_by_the_first_analysis_and_not_again)
{
  EXPECT_EXIT(end(!Kokkos::is_initialized() && analyse().ok() && Kokkos::is_initialized() && analyse().ok()),
              testing::ExitedWithCode(0), "");
}

TEST_F(RuntimeDeathTest, is_not_started_or_ended_beside_its_owner)
{
  const auto owner = [] {
    Kokkos::initialize();
    const bool good = analyse().ok() && Kokkos::is_initialized();
    Kokkos::finalize();
    end(good && !Kokkos::is_initialized());
  };
  EXPECT_EXIT(owner(), testing::ExitedWithCode(0), "");
}

TEST_F(RuntimeDeathTest, that_has_ended_is_a_failure_in_words)
{
  const auto late = [] {
    const bool good = analyse().ok();
    Kokkos::finalize();
    const Status status = analyse();
    end(good && status.code == Code::invalid_argument && status.message().find("finalized") != std::string::npos);
  };
  EXPECT_EXIT(late(), testing::ExitedWithCode(0), "");
}

/// Kokkos prints nothing in a process that uses it.
TEST_F(RuntimeDeathTest, is_silent)
{
  const auto quiet = [] {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const bool good = analyse().ok();
    end(good && testing::internal::GetCapturedStdout().empty() && testing::internal::GetCapturedStderr().empty());
  };
  EXPECT_EXIT(quiet(), testing::ExitedWithCode(0), "");
}

TEST(Runtime, has_a_name_with_version_and_space)
{
  ASSERT_TRUE(kokkos::initialize_kokkos().ok());
  const std::string name = kokkos::space_name();
  EXPECT_EQ(name.rfind("Kokkos ", 0), 0u) << name;
  EXPECT_NE(name.find(Kokkos::DefaultHostExecutionSpace::name()), std::string::npos) << name;
  EXPECT_GE(kokkos::space_threads(), 1);
}

}  // namespace
}  // namespace syncfree
