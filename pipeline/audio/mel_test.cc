#include "pipeline/audio/mel.h"

#include <cmath>
#include <thread>
#include <vector>

#include "common/npy_file.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

constexpr int64_t kRate = 16000;

MelOptions Torchaudio() {
  MelOptions o;
  o.sample_rate = kRate;
  o.n_mels = 24;
  o.f_max = kRate / 2.0;
  return o;
}
MelOptions Librosa() {
  MelOptions o;
  o.sample_rate = kRate;
  o.n_fft = o.win_length = 512;
  o.hop_length = 128;
  o.n_mels = 20;
  o.f_min = 50;
  o.f_max = 7600;
  o.scale = MelScale::kSlaney;
  o.slaney_norm = true;
  o.pad = MelPad::kZero;
  return o;
}

std::vector<float> Mels(const MelOptions& options, const std::vector<float>& samples) {
  const auto mel = MelSpectrogram::Make(options);
  EXPECT_TRUE(mel.ok()) << mel.status();
  if (!mel.ok()) return {};
  const auto frames = (*mel)->Frames(static_cast<int64_t>(samples.size()));
  EXPECT_TRUE(frames.ok()) << frames.status();
  if (!frames.ok()) return {};
  std::vector<float> out(static_cast<size_t>(*frames * options.n_mels));
  Arena arena;
  (*mel)->Run(samples, arena, out.data());
  return out;
}

// Relative to the largest value where that is larger than 1.
void ExpectGolden(const MelOptions& options, const std::string& name, double most) {
  const auto in = ReadGolden("audio_mel_in");
  const auto golden = ReadGolden(name);
  ASSERT_TRUE(in.ok() && golden.ok()) << in.status() << golden.status();
  const std::vector<float> got = Mels(options, in->as<float>());
  const std::vector<float> expected = golden->as<float>();
  ASSERT_EQ(golden->shape[0], options.n_mels);
  ASSERT_EQ(got.size(), expected.size()) << name;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], most * std::max(1.0f, std::abs(expected[i])))
        << name << " " << i;
}

TEST(MelSpectrogramTest, TheConventionsOfTorchaudioAndLibrosaAreKept) {
  ExpectGolden(Torchaudio(), "audio_mel_torchaudio", 2e-5);
  ExpectGolden(Librosa(), "audio_mel_librosa", 2e-5);
  MelOptions magnitude = Librosa();
  magnitude.win_length = 300;
  magnitude.center = false;
  magnitude.power = 1;
  ExpectGolden(magnitude, "audio_mel_magnitude", 2e-5);
  MelOptions decibels = Librosa();
  decibels.log = MelLog::kDecibel;
  decibels.top_db = 30;
  ExpectGolden(decibels, "audio_mel_db", 1e-4);
}

TEST(MelSpectrogramTest, LogarithmsHaveAFloor) {
  MelOptions options = Torchaudio();
  options.floor = 1e-5;
  const std::vector<float> silence(1000);
  options.log = MelLog::kNatural;
  for (float x : Mels(options, silence)) EXPECT_NEAR(x, std::log(1e-5), 1e-4);
  options.log = MelLog::kLog10;
  for (float x : Mels(options, silence)) EXPECT_NEAR(x, -5, 1e-4);
  options.log = MelLog::kDecibel;
  for (float x : Mels(options, silence)) EXPECT_NEAR(x, -50, 1e-3);
}

TEST(MelSpectrogramTest, TimeFirstIsTheSameTurned) {
  const auto in = ReadGolden("audio_mel_in");
  ASSERT_TRUE(in.ok());
  MelOptions options = Torchaudio();
  const std::vector<float> mels = Mels(options, in->as<float>());
  options.time_first = true;
  const std::vector<float> times = Mels(options, in->as<float>());
  const size_t frames = mels.size() / 24;
  for (size_t m = 0; m < 24; ++m) {
    for (size_t t = 0; t < frames; ++t) ASSERT_EQ(mels[m * frames + t], times[t * 24 + m]);
  }
}

TEST(MelSpectrogramTest, ASoundTooShortForOneFrameIsRefused) {
  const auto reflect = MelSpectrogram::Make(Torchaudio());
  ASSERT_TRUE(reflect.ok());
  EXPECT_EQ((*reflect)->Frames(201).value(), 2);
  EXPECT_EQ((*reflect)->Frames(200).status().message(),
            "sound of 200 samples is too short to be mirrored by n_fft / 2 = 200; pad_mode: zero "
            "takes it");
  const auto zero = MelSpectrogram::Make(Librosa());
  ASSERT_TRUE(zero.ok());
  EXPECT_EQ((*zero)->Frames(0).value(), 1);
  MelOptions bare = Torchaudio();
  bare.center = false;
  EXPECT_EQ((*MelSpectrogram::Make(bare))->Frames(399).status().message(),
            "sound of 399 samples is shorter than n_fft 400");
}

TEST(MelSpectrogramTest, ManyThreadsMayMakeAndRunThem) {
  const auto in = ReadGolden("audio_mel_in");
  ASSERT_TRUE(in.ok());
  const std::vector<float> expected = Mels(Torchaudio(), in->as<float>());
  std::vector<std::thread> threads;
  std::vector<int> same(4, 0);
  for (size_t i = 0; i < same.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round)
        same[i] += Mels(Torchaudio(), in->as<float>()) == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, std::vector<int>(4, 5));
}

TEST(MelSpectrogramTest, ImpossibleOptionsAreRefused) {
  const auto message = [](auto change) {
    MelOptions options = Torchaudio();
    change(options);
    const auto made = MelSpectrogram::Make(options);
    EXPECT_FALSE(made.ok());
    return std::string(made.status().message());
  };
  EXPECT_EQ(message([](MelOptions& o) { o.n_fft = 1; }), "n_fft: expected 2 to 1048576, got 1");
  EXPECT_EQ(message([](MelOptions& o) { o.win_length = 401; }),
            "win_length: expected 1 to 400, got 401");
  EXPECT_EQ(message([](MelOptions& o) { o.f_max = 9000; }),
            "f_min, f_max: expected 0 <= f_min < f_max <= 8000 (half the sample rate), got 0 and "
            "9000");
  EXPECT_EQ(message([](MelOptions& o) { o.floor = 0; }), "floor: expected a number above 0, got 0");
}

}  // namespace
}  // namespace headrace
