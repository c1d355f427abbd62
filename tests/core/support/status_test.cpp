/// Status: every failure has its own name and a sentence that reports where it happened.

#include "syncfree/status.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace syncfree {
namespace {

const std::vector<Code> codes = {
    Code::ok,           Code::invalid_argument, Code::bad_row_offsets,  Code::column_out_of_range,
    Code::unsorted_columns, Code::duplicate_column, Code::missing_diagonal, Code::zero_pivot,
    Code::not_finite,   Code::negative_pivot,   Code::another_pattern,  Code::unknown_strategy,
    Code::no_plan,     Code::out_of_memory,    Code::device_failure,   Code::wait_expired,
    Code::busy,         Code::stale_capture};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Status, is_success_unless_something_failed)
{
  EXPECT_TRUE(Status().ok());
  EXPECT_FALSE(failed(Code::zero_pivot, 3).ok());
}

TEST(Status, has_a_name_and_a_sentence_of_its_own_for_every_code)
{
  std::set<std::string> names, sentences;
  for (Code code : codes) {
    names.insert(to_string(code));
    sentences.insert(failed(code, 4, 5).message());
  }
  EXPECT_EQ(names.size(), codes.size());
  EXPECT_EQ(sentences.size(), codes.size());
  EXPECT_EQ(names.count("unknown code"), 0u);
}

TEST(Status, names_the_row_of_a_failure_that_has_one)
{
  for (Code code : {Code::bad_row_offsets, Code::column_out_of_range, Code::unsorted_columns, Code::duplicate_column,
                    Code::missing_diagonal, Code::zero_pivot, Code::not_finite, Code::negative_pivot,
                    Code::wait_expired})
    EXPECT_TRUE(contains(failed(code, 4711).message(), "row 4711")) << to_string(code);
}

TEST(Status, names_the_column_of_a_bad_entry)
{
  for (Code code : {Code::column_out_of_range, Code::unsorted_columns, Code::duplicate_column})
    EXPECT_TRUE(contains(failed(code, 1, 4712).message(), "column 4712")) << to_string(code);
}

TEST(Status, repeats_the_words_of_a_bad_call)
{
  EXPECT_TRUE(contains(failed(Code::invalid_argument, "levels").message(), "levels"));
  EXPECT_TRUE(contains(failed(Code::unknown_strategy, "fastest").message(), "fastest"));
}

TEST(Status, of_a_zero_pivot_gives_value_tolerance_and_a_way_out)
{
  Status status = failed(Code::zero_pivot, 7);
  status.value = 1.5e-20;
  status.tolerance = 2.5e-14;
  const std::string message = status.message();
  EXPECT_TRUE(contains(message, "1.5e-20")) << message;
  EXPECT_TRUE(contains(message, "2.5e-14")) << message;
  EXPECT_TRUE(contains(message, "-pc_factor_shift_type")) << message;
}

TEST(Status, of_a_dense_block_names_the_block_row)
{
  for (Code code : {Code::missing_diagonal, Code::zero_pivot, Code::not_finite, Code::another_pattern,
                    Code::wait_expired}) {
    Status status = failed(code, 7, 2);
    status.block_row = true;
    EXPECT_TRUE(contains(status.message(), "block row 7")) << status.message();
  }
  Status singular = failed(Code::zero_pivot, 7, 2);
  singular.block_row = true;
  EXPECT_TRUE(contains(singular.message(), "pivot 2 has the value 0")) << singular.message();
}

/// `merged` has no form for dense blocks.
TEST(Status, of_a_strategy_without_a_plan_names_those_that_have_one)
{
  Status status = failed(Code::no_plan, "no grid");
  EXPECT_EQ(status.message(), "no plan: no grid; use level_order (on a GPU), merged or auto");
  status.block_row = true;
  EXPECT_EQ(status.message(), "no plan: no grid; use level_order or auto");
}

TEST(Status, of_a_pivot_without_a_root_gives_both_parts_of_a_complex_one)
{
  Status status = failed(Code::negative_pivot, 7);
  status.value = 9.5;
  EXPECT_TRUE(contains(status.message(), "is 9.5;")) << status.message();
  status.imaginary = -0.25;
  EXPECT_TRUE(contains(status.message(), "is (9.5,-0.25);")) << status.message();
}

/// 2^40 rows: a 64-bit row index is preserved.
TEST(Status, holds_rows_of_64_bits)
{
  EXPECT_TRUE(contains(failed(Code::not_finite, std::int64_t(1) << 40).message(), "1099511627776"));
}

}  // namespace
}  // namespace syncfree
