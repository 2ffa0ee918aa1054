#include "pipeline/audio/resample.h"

#include <cmath>
#include <vector>

#include "common/npy_file.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

std::vector<float> Resampled(const std::vector<float>& in, int64_t channels, int64_t from,
                             int64_t to) {
  const int64_t frames = static_cast<int64_t>(in.size()) / channels;
  std::vector<float> out(static_cast<size_t>(ResampledFrames(frames, from, to) * channels), -9.0f);
  const absl::Status status = ResampleAudio(in.data(), frames, channels, from, to, out.data());
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(ResampleAudioTest, ASoundWithinTheBandIsWhatScipyMakesOfIt) {
  for (const auto& [from, to] : {std::pair{16000, 8000}, {8000, 11025}, {44100, 16000}}) {
    const auto in = ReadGolden(fmt::format("audio_at_{}", from));
    const auto golden = ReadGolden(fmt::format("audio_from_{}_to_{}", from, to));
    ASSERT_TRUE(in.ok() && golden.ok()) << in.status() << golden.status();
    const std::vector<float> got = Resampled(in->as<float>(), 1, from, to);
    const std::vector<float> expected = golden->as<float>();
    ASSERT_EQ(got.size(), expected.size()) << from << " to " << to;
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], 1e-3) << from << " to " << to << " sample " << i;
  }
}

TEST(ResampleAudioTest, ChannelsStayApart) {
  const auto in = ReadGolden("audio_at_16000");
  ASSERT_TRUE(in.ok());
  std::vector<float> both;
  for (float x : in->as<float>()) {
    both.push_back(x);
    both.push_back(-0.5f * x);
  }
  const std::vector<float> alone = Resampled(in->as<float>(), 1, 16000, 8000);
  const std::vector<float> got = Resampled(both, 2, 16000, 8000);
  ASSERT_EQ(got.size(), 2 * alone.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    EXPECT_NEAR(got[2 * i], alone[i], 1e-5);
    EXPECT_NEAR(got[2 * i + 1], -0.5f * alone[i], 1e-5);
  }
}

TEST(ResampleAudioTest, TheLengthInSecondsStaysRoundedUp) {
  EXPECT_EQ(ResampledFrames(16000, 16000, 8000), 8000);
  EXPECT_EQ(ResampledFrames(3, 2, 1), 2);
  EXPECT_EQ(ResampledFrames(0, 44100, 16000), 0);
  EXPECT_EQ(ResampledFrames(int64_t{1} << 40, 1'000'000, 999'999),
            (int64_t{1} << 40) - ((int64_t{1} << 40) / 1'000'000));
  for (int64_t frames : {0, 1, 2, 7, 100}) {
    for (float x :
         Resampled(std::vector<float>(static_cast<size_t>(frames), 0.5f), 1, 44100, 16000))
      EXPECT_LE(std::abs(x), 1.0f) << frames;
  }
}

TEST(ResampleAudioTest, ImpossibleRatesAreRefused) {
  EXPECT_TRUE(CheckSampleRate(16000).ok());
  EXPECT_EQ(CheckSampleRate(0).message(), "sample rate 0 Hz: expected 100 to 1000000");
  EXPECT_FALSE(CheckSampleRate(-8000).ok());
}

}  // namespace
}  // namespace headrace
