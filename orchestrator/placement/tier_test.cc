#include "orchestrator/placement/tier.h"

#include <cmath>

#include "gtest/gtest.h"
#include "orchestrator/seeded_random.h"

namespace headrace::orchestrate {
namespace {

TEST(TransferFitTest, FindsLatencyAndBandwidthInNoise) {
  SeededRandom random(3);
  TransferFit fit;
  for (int i = 0; i < 400; ++i) {
    const double bytes = random.LogUniform(4e3, 16e6);
    fit.Add(bytes, (0.002 + bytes / 500e6) * random.Noise(0.05));
  }
  EXPECT_NEAR(fit.alpha(), 0.002, 0.0002);
  EXPECT_NEAR(fit.beta(), 500e6, 25e6);
}

TEST(TransferFitTest, ForgetsWhatWasBefore) {
  SeededRandom random(4);
  TransferFit fit;
  for (int i = 0; i < 2000; ++i) {
    const double bytes = random.LogUniform(4e3, 16e6);
    fit.Add(bytes, 0.002 + bytes / (i < 1000 ? 500e6 : 250e6));
  }
  EXPECT_NEAR(fit.beta(), 250e6, 25e6);
}

TEST(TransferFitTest, IsNeverNegativeWhateverItSees) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SeededRandom random(seed);
    TransferFit fit;
    EXPECT_EQ(fit.beta(), 0);
    const int samples = 1 + static_cast<int>(random.Below(50));
    for (int i = 0; i < samples; ++i) {
      fit.Add(random.Chance(0.05) ? -1 : random.LogUniform(1, 1e9),
              random.Chance(0.05) ? NAN : random.LogUniform(1e-7, 10));
    }
    if (fit.samples() == 0) continue;
    ASSERT_GE(fit.alpha(), 0) << seed;
    ASSERT_GT(fit.beta(), 0) << seed;
    for (double bytes : {0.0, 1.0, 1e3, 1e6, 1e9}) ASSERT_GE(fit.Seconds(bytes), 0) << seed;
  }
}

}  // namespace
}  // namespace headrace::orchestrate
