// The signed-rank test against what it is defined as, and against chance.
#include "replay/signed_rank.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace refrain::tests {
namespace {

double rank(std::vector<float> ratios) { return replay::signed_rank(ratios); }

TEST(SignedRank, is_the_sum_of_the_ranks_above_in_standard_deviations) {
  // Ranks 1 to 4 by distance from 1: 1.05 above, 1 / 1.1 below, 1.2 above, 1 / 1.3 below. (4 - 5) / sqrt(7.5)
  EXPECT_NEAR(rank({1.2F, 1 / 1.3F, 1.05F, 1 / 1.1F}), -1 / std::sqrt(7.5), 1e-6);
  EXPECT_NEAR(rank({1.1F, 1.2F, 1.3F, 1.4F}), 5 / std::sqrt(7.5), 1e-6);
  EXPECT_NEAR(rank({1 / 1.1F, 1 / 1.2F, 1 / 1.3F, 1 / 1.4F}), -5 / std::sqrt(7.5), 1e-6);
  EXPECT_EQ(rank({}), 0);
  EXPECT_EQ(rank({1, 1, 1, 1}), 0);
}

TEST(SignedRank, how_far_an_outlier_lies_does_not_matter) {
  EXPECT_EQ(rank({1.1F, 0.9F, 1.2F, 1.3F, 0.5F}), rank({1.1F, 0.9F, 1.2F, 1.3F, 0.001F}));
}

TEST(SignedRank, what_is_no_ratio_says_nothing) {
  constexpr float none = std::numeric_limits<float>::quiet_NaN(), endless = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isfinite(rank({none, 0, endless, -1, 1.1F, 0.9F})));
  EXPECT_EQ(rank({none, none, 0, endless}), 0);
}

TEST(SignedRank, chance_rarely_says_much) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal(0, 0.1F);
  for (const std::size_t pairs : {8u, 16u, 24u, 64u}) {
    unsigned above = 0;
    constexpr unsigned rounds = 20'000;
    for (unsigned round = 0; round < rounds; ++round) {
      std::vector<float> ratios(pairs);
      for (float& ratio : ratios) ratio = std::exp(normal(random));
      above += rank(ratios) >= 2.5 ? 1 : 0;
    }
    EXPECT_GT(above, rounds / 500) << pairs;
    EXPECT_LT(above, rounds / 125) << pairs;
  }
}

}  // namespace
}  // namespace refrain::tests
