#pragma once

#include <gtest/gtest.h>

#include <string>

#include "syncfree/status.hpp"

namespace syncfree {

/// Returns true if the requested `tiled` or `wavefront` has no plan for this matrix. That is no failure of a test, but
/// the status must give the reason.
inline bool has_no_plan(const std::string& strategy, const Status& status)
{
  const bool may_lack = strategy == "tiled" || strategy == "wavefront";
  if (!may_lack || status.code != Code::no_plan) return false;
  EXPECT_FALSE(status.detail.empty());
  EXPECT_EQ(status.message(), "no plan: " + status.detail + "; use level_order (on a GPU), merged or auto");
  EXPECT_FALSE(status.block_row);
  return true;
}

}  // namespace syncfree
