#include "orchestrator/autoscale/fair_share.h"

#include <numeric>
#include <random>

#include "gtest/gtest.h"

namespace headrace::orchestrate {
namespace {

TEST(FairShareTest, EnoughForAllGivesEachItsNeed) {
  EXPECT_EQ(FairShares({{.need = 2}, {.need = 3}}, 10), (std::vector<double>{2, 3}));
}

TEST(FairShareTest, TooLittleIsSharedByWeightUpToTheNeed) {
  const auto shares =
      FairShares({{.need = 1}, {.need = 9, .weight = 1}, {.need = 9, .weight = 2}}, 7);
  EXPECT_DOUBLE_EQ(shares[0], 1);
  EXPECT_DOUBLE_EQ(shares[1], 2);
  EXPECT_DOUBLE_EQ(shares[2], 4);
}

TEST(FairShareTest, HigherPrioritiesComeFirstButWhatIsKeptIsKept) {
  const auto shares = FairShares({{.need = 5, .least = 1}, {.need = 5, .priority = 1}}, 5);
  EXPECT_DOUBLE_EQ(shares[0], 1);
  EXPECT_DOUBLE_EQ(shares[1], 4);
}

TEST(FairShareTest, AQuotaIsALimit) {
  const auto shares = FairShares({{.need = 8, .most = 3}, {.need = 8}}, 10);
  EXPECT_DOUBLE_EQ(shares[0], 3);
  EXPECT_DOUBLE_EQ(shares[1], 7);
}

std::vector<Claim> RandomClaims(std::mt19937_64& rng) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng);
  };
  std::vector<Claim> claims(1 + rng() % 8);
  for (Claim& claim : claims) {
    claim.need = uniform(0, 20);
    claim.weight = uniform(0.1, 5);
    claim.priority = static_cast<int>(rng() % 3);
    claim.least = rng() % 3 == 0 ? uniform(0, 3) : 0;
    claim.most = rng() % 3 == 0 ? uniform(0.5, 10) : 0;
  }
  return claims;
}

TEST(FairSharePropertyTest, SharesKeepEveryBoundAndWasteNothing) {
  std::mt19937_64 rng(11);
  for (int round = 0; round < 5000; ++round) {
    const std::vector<Claim> claims = RandomClaims(rng);
    const double total = std::uniform_real_distribution<double>(0, 60)(rng);
    const std::vector<double> shares = FairShares(claims, total);
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    ASSERT_LE(sum, total + 1e-6);
    double wanted = 0;
    for (size_t i = 0; i < claims.size(); ++i) {
      const double want =
          claims[i].most > 0 ? std::min(claims[i].need, claims[i].most) : claims[i].need;
      wanted += want;
      ASSERT_GE(shares[i], -1e-9);
      ASSERT_LE(shares[i], want + 1e-6);
    }
    ASSERT_NEAR(sum, std::min(total, wanted), 1e-6);  // nothing is left while somebody wants
  }
}

TEST(FairSharePropertyTest, NobodyGainsButAtTheCostOfOneWithLess) {
  std::mt19937_64 rng(12);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Claim> claims = RandomClaims(rng);
    for (Claim& claim : claims) {
      claim.priority = 0;
      claim.least = 0;
    }
    const std::vector<double> shares =
        FairShares(claims, std::uniform_real_distribution<double>(0, 40)(rng));
    for (size_t i = 0; i < claims.size(); ++i) {
      const double want =
          claims[i].most > 0 ? std::min(claims[i].need, claims[i].most) : claims[i].need;
      if (shares[i] >= want - 1e-6) continue;  // it is not short of anything
      for (size_t k = 0; k < claims.size(); ++k) {
        ASSERT_LE(shares[k] / claims[k].weight, shares[i] / claims[i].weight + 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace headrace::orchestrate
