/// The limit of waits on a device: the requested limit, unless the environment sets another.

#include "syncfree/wait_limit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "syncfree/solver.hpp"

namespace syncfree {
namespace {

/// Sets SYNCFREE_WAIT_LIMIT during its lifetime; nullptr unsets it.
class Environment {
public:
  explicit Environment(const char* value)
      : was_set_(std::getenv(name) != nullptr), before_(was_set_ ? std::getenv(name) : "")
  {
    set(value);
  }
  ~Environment() { set(was_set_ ? before_.c_str() : nullptr); }

private:
  static constexpr const char* name = "SYNCFREE_WAIT_LIMIT";
  static void set(const char* value)
  {
    if (value) setenv(name, value, 1);
    else unsetenv(name);
  }
  const bool was_set_;
  const std::string before_;
};

double in_force(double asked)
{
  double limit = -1;
  EXPECT_EQ(wait_limit_in_force(asked, &limit).message(), "success");
  return limit;
}

TEST(WaitLimit, is_what_is_asked_for)
{
  for (const char* nothing : {static_cast<const char*>(nullptr), ""}) {
    const Environment environment(nothing);
    EXPECT_EQ(in_force(SolverOptions().wait_limit), 60);
    EXPECT_EQ(in_force(7.5), 7.5);
    EXPECT_EQ(in_force(0), 0);
    EXPECT_EQ(in_force(-3), 0);
    EXPECT_EQ(in_force(1e300), most_wait_limit);
    EXPECT_EQ(in_force(std::nan("")), 0);
  }
}

TEST(WaitLimit, is_the_environments_where_that_has_one)
{
  const std::pair<const char*, double> cases[] = {{"0", 0}, {"2.5", 2.5}, {"1e3", 1000}, {"inf", most_wait_limit}};
  for (const auto& [text, seconds] : cases) {
    const Environment environment(text);
    EXPECT_EQ(in_force(60), seconds) << text;
  }
}

TEST(WaitLimit, that_is_no_number_of_seconds_is_refused_by_its_value)
{
  for (const char* text : {"soon", "5s", "5 ", "-1", "nan", "1,5"}) {
    const Environment environment(text);
    double limit = 17;
    const Status status = wait_limit_in_force(60, &limit);
    EXPECT_EQ(status.code, Code::invalid_argument) << text;
    EXPECT_NE(status.message().find("SYNCFREE_WAIT_LIMIT is '" + std::string(text) + "'"), std::string::npos)
        << status.message();
    EXPECT_EQ(limit, 17) << text;
  }
}

}  // namespace
}  // namespace syncfree
