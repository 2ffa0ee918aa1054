#include "pipeline/audio/decode.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/npy_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/audio/test_sounds.h"

namespace headrace {
namespace {

struct Sound {
  std::vector<float> samples;
  int64_t frames = 0, channels = 0, rate = 0;
};

absl::StatusOr<Sound> Decode(const std::string& bytes, const AudioOptions& options = {}) {
  std::vector<float> memory;
  size_t calls = 0;
  const auto audio = DecodeAudio(bytes, options, [&](size_t size) {
    ++calls;
    memory.resize(size / sizeof(float) + 1);
    return reinterpret_cast<std::byte*>(memory.data());
  });
  if (!audio.ok()) return audio.status();
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(audio->samples, memory.data());
  memory.resize(static_cast<size_t>(audio->frames * audio->channels));
  return Sound{memory, audio->frames, audio->channels, audio->sample_rate};
}

std::string GoldenFile(const std::string& name) {
  const char* source = std::getenv("HEADRACE_SOURCE_DIR");
  std::ifstream file(std::string(source != nullptr ? source : ".") + "/tests/golden/data/" + name,
                     std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

void ExpectDecodesTo(const std::string& file, const std::string& golden, int64_t rate,
                     double most) {
  const auto sound = Decode(GoldenFile(file));
  ASSERT_TRUE(sound.ok()) << file << ": " << sound.status();
  const auto array = ReadGolden(golden);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(sound->rate, rate);
  ASSERT_EQ(std::vector<int64_t>({sound->frames, sound->channels}), array->shape) << file;
  const std::vector<float> expected = array->as<float>();
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(sound->samples[i], expected[i], most) << file << " sample " << i;
}

TEST(AudioDecodeTest, FilesOfOtherWritersGiveTheSamplesThatOtherDecodersGive) {
  ExpectDecodesTo("audio_stereo_s16.wav", "audio_stereo", 16000, 0);
  ExpectDecodesTo("audio_stereo_s24.wav", "audio_stereo", 16000, 0);
  ExpectDecodesTo("audio_stereo_s16.flac", "audio_stereo", 16000, 0);
  ExpectDecodesTo("audio_stereo_u8.wav", "audio_stereo_u8", 16000, 0);
  ExpectDecodesTo("audio_mono_f32.wav", "audio_mono", 8000, 0);
  // Two decoders of a lossy format: within the rounding of float32.
  ExpectDecodesTo("audio_mono_vorbis.ogg", "audio_mono_vorbis", 16000, 1e-4);
}

TEST(AudioDecodeTest, WhatWasEncodedComesBack) {
  const std::vector<float> tone = MakeTone(9000, 2, 48000);
  for (SoundKind kind : {SoundKind::kWav16, SoundKind::kWavFloat, SoundKind::kFlac,
                         SoundKind::kVorbis, SoundKind::kOpus}) {
    const auto sound = Decode(EncodeSound(kind, tone, 2, 48000));
    ASSERT_TRUE(sound.ok()) << sound.status();
    EXPECT_EQ(sound->channels, 2);
    EXPECT_EQ(sound->rate, 48000);
    ASSERT_EQ(sound->frames, 9000);
    const bool lossy = kind == SoundKind::kVorbis || kind == SoundKind::kOpus;
    double squares = 0;
    for (size_t i = 0; i < tone.size(); ++i) squares += std::pow(tone[i] - sound->samples[i], 2);
    EXPECT_LT(std::sqrt(squares / static_cast<double>(tone.size())), lossy ? 0.05 : 2e-5);
  }
}

TEST(AudioDecodeTest, MonoIsTheMeanOfTheChannels) {
  const std::vector<float> samples{0.5f, -0.25f, 1.0f, 0.5f, 0.0f, 0.25f};
  const auto sound = Decode(EncodeSound(SoundKind::kWavFloat, samples, 2, 8000), {.mono = true});
  ASSERT_TRUE(sound.ok()) << sound.status();
  EXPECT_EQ(sound->channels, 1);
  EXPECT_EQ(sound->samples, (std::vector<float>{0.125f, 0.75f, 0.125f}));
}

TEST(AudioDecodeTest, ASilenceThatIsMuchLongerThanItsFileIsWhole) {
  const auto sound = Decode(EncodeSound(SoundKind::kFlac, std::vector<float>(3'000'000), 1, 8000));
  ASSERT_TRUE(sound.ok()) << sound.status();
  EXPECT_EQ(sound->frames, 3'000'000);
}

TEST(AudioDecodeTest, ASoundOverTheLimitIsRefused) {
  const std::string bytes = EncodeSound(SoundKind::kWav16, MakeTone(1000, 2, 8000), 2, 8000);
  EXPECT_TRUE(Decode(bytes, {.max_samples = 2000}).ok());
  const auto refused = Decode(bytes, {.max_samples = 1999});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(refused.status().message(),
            "sound of 1000 frames and 2 channels is over the limit of 1999 samples");
}

TEST(AudioDecodeTest, ACutFileIsAnError) {
  const std::vector<float> tone = MakeTone(9000, 1, 16000);
  for (SoundKind kind : {SoundKind::kWav16, SoundKind::kWavFloat, SoundKind::kFlac}) {
    const std::string whole = EncodeSound(kind, tone, 1, 16000);
    for (size_t keep : {size_t{5}, size_t{30}, whole.size() / 2, whole.size() - 3}) {
      const auto cut = Decode(whole.substr(0, keep));
      EXPECT_EQ(cut.status().code(), absl::StatusCode::kDataLoss)
          << static_cast<int>(kind) << " " << keep << " " << cut.status();
    }
  }
  EXPECT_THAT(
      Decode(EncodeSound(SoundKind::kWav16, tone, 1, 16000).substr(0, 1044)).status().message(),
      testing::HasSubstr("WAV ends early: its sound is 18000 bytes long, 1000 are there"));
  // An Ogg file announces no length: what is there must be the front of the whole.
  const std::string ogg = EncodeSound(SoundKind::kVorbis, tone, 1, 16000);
  const auto cut = Decode(ogg.substr(0, ogg.size() - 10));
  EXPECT_LT(cut.ok() ? cut->frames : 0, 9000);
}

TEST(AudioDecodeTest, WhatIsNoSoundIsSaidSo) {
  const auto message = [](const std::string& bytes) {
    const auto sound = Decode(bytes);
    EXPECT_FALSE(sound.ok());
    return std::string(sound.status().message());
  };
  EXPECT_EQ(message(""), "0 bytes: no sound file");
  EXPECT_EQ(message("Hello, I am a text."), "begins with \"Hell\": neither WAV, FLAC nor Ogg");
  EXPECT_THAT(message("RIFF....WAVEfmt "), testing::StartsWith("no readable sound file: "));
  EXPECT_THAT(message("OggS and nothing else"), testing::StartsWith("no readable sound file: "));
  EXPECT_THAT(message("fLaC"), testing::StartsWith("no readable sound file: "));
}

TEST(AudioDecodeTest, ALieAboutTheLengthTakesNoMemory) {
  std::string flac = EncodeSound(SoundKind::kFlac, MakeTone(5000, 1, 16000), 1, 16000);
  // STREAMINFO is the first block: its 36 bits of length end at byte 26 (8 + 18).
  flac[21] = static_cast<char>(flac[21] | 0x0f);
  const auto huge = Decode(flac);
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kOutOfRange) << huge.status();
  std::string longer = EncodeSound(SoundKind::kFlac, MakeTone(5000, 1, 16000), 1, 16000);
  longer[22] = 7;  // 7 << 24 frames: allowed, but not there
  size_t largest = 0;
  std::vector<std::byte> memory;
  const auto lie = DecodeAudio(longer, {}, [&](size_t size) {
    largest = std::max(largest, size);
    memory.resize(size);
    return memory.data();
  });
  EXPECT_EQ(lie.status().code(), absl::StatusCode::kDataLoss) << lie.status();
  EXPECT_LT(largest, 8u << 20);
}

TEST(AudioDecodeTest, FlippedBytesNeverCrashAndNeverGiveMoreThanTheLimit) {
  for (SoundKind kind : {SoundKind::kWav16, SoundKind::kFlac, SoundKind::kVorbis}) {
    const std::string whole = EncodeSound(kind, MakeTone(3000, 2, 16000), 2, 16000);
    for (size_t at = 0; at < whole.size(); at += 1 + at / 24) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
      const auto sound = Decode(damaged, {.max_samples = 1 << 20});
      EXPECT_LE(sound.ok() ? sound->frames * sound->channels : 0, 1 << 20);
    }
  }
}

}  // namespace
}  // namespace headrace
