#pragma once

#include <gtest/gtest.h>

#include <string>

#include "syncfree/status.hpp"

namespace syncfree {

/// Is there no plan of `courier`, which was asked for? That is no failure of a test, if it is said in words.
inline bool has_no_tiles(const std::string& strategy, const Status& status)
{
  if (strategy != "courier" || status.code != Code::no_tiles) return false;
  EXPECT_FALSE(status.detail.empty());
  EXPECT_EQ(status.message(), "no tiles: " + status.detail + "; take level_order (on a GPU), merged or auto");
  return true;
}

}  // namespace syncfree
