/// The meetings of processes that tests arrange.

#include "../../meeting.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <vector>

namespace syncfree {
namespace {

class Meetings : public testing::Test {
protected:
  void SetUp() override
  {
    std::string name = (std::filesystem::temp_directory_path() / "meetingXXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(Meetings, wait_for_the_last_at_each_point)
{
  std::atomic<int> at_first{0}, at_second{0};
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i)
    all.emplace_back([&, i] {
      Meeting meeting(folder_, 3, 60, std::to_string(i));
      std::this_thread::sleep_for(std::chrono::milliseconds(30 * i));
      ++at_first;
      EXPECT_EQ(meeting.meet("first"), "");
      EXPECT_EQ(at_first, 3);
      ++at_second;
      EXPECT_EQ(meeting.meet("second"), "");
      EXPECT_EQ(at_second, 3);
    });
  for (std::thread& one : all) one.join();
}

TEST_F(Meetings, do_not_wait_for_one_that_ended_or_is_late)
{
  Meeting meeting(folder_, 2, 0.05, "this");
  EXPECT_EQ(meeting.meet("first"), "1 of 2 processes came to first in time");
  {
    Meeting other(folder_, 2, 0.05, "other");
    EXPECT_EQ(other.meet("first"), "");  // late, but this one came
  }
  Meeting patient(folder_, 2, 60, "this");
  EXPECT_EQ(patient.meet("second"), "a process ended before it came to second");
}

TEST_F(Meetings, need_their_folder)
{
  EXPECT_EQ(Meeting("/nowhere", 1, 60, "this").meet("first"), "no file can be written to /nowhere");
}

}  // namespace
}  // namespace syncfree
