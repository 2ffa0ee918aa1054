#include "pipeline/audio/test_sounds.h"
#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Params kSound = Params().Set("field", "sound");
Schema Files() { return Schema({{"sound", DType::kBytes, {}}, {"id", DType::kInt64, {}}}); }

TEST(DecodeAudioTest, SamplesAndTheirRateComeOut) {
  auto step = Build("decode_audio", kSound, Files());
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(),
            "{sound: float32 [?, ?], id: int64 [], sample_rate: int64 []}");
  const std::vector<float> tone = MakeTone(50, 2, 8000);
  Block block = Rows(
      step->input,
      {{Text(EncodeSound(SoundKind::kWavFloat, tone, 2, 8000)), Num<int64_t>(1)},
       {Text(EncodeSound(SoundKind::kFlac, MakeTone(9, 1, 44100), 1, 44100)), Num<int64_t>(2)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  ASSERT_EQ(block.rows(), 2u);
  EXPECT_EQ(block.column(0)[0].shape, (Shape{50, 2}));
  EXPECT_EQ(block.column(0)[1].shape, (Shape{9, 1}));
  EXPECT_EQ(Column<int64_t>(block, 2), (std::vector<int64_t>{8000, 44100}));
  const auto got = block.column(0)[0].as<float>();
  EXPECT_EQ(std::vector<float>(got.begin(), got.end()), tone);
}

TEST(DecodeAudioTest, MonoIsOneDimension) {
  auto step =
      Build("decode_audio", Params(kSound).Set("mono", true).Set("rate_field", ""), Files());
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{sound: float32 [?], id: int64 []}");
  Block block = Rows(
      step->input,
      {{Text(EncodeSound(SoundKind::kVorbis, MakeTone(500, 2, 8000), 2, 8000)), Num<int64_t>(1)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.column(0)[0].shape, (Shape{500}));
}

TEST(DecodeAudioTest, ABadFileFailsItsRowAlone) {
  auto step = Build("decode_audio", Params(kSound).Set("max_samples", 100), Files());
  ASSERT_TRUE(step.ok());
  const auto wav = [](int64_t frames) {
    return EncodeSound(SoundKind::kWav16, MakeTone(frames, 1, 8000), 1, 8000);
  };
  Block block = Rows(step->input, {{Text("a text"), Num<int64_t>(1)},
                                   {Text(wav(100)), Num<int64_t>(2)},
                                   {Text(wav(101)), Num<int64_t>(3)},
                                   {Text(wav(90).substr(0, 100)), Num<int64_t>(4)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int64_t>(block, 1), (std::vector<int64_t>{2}));
  ASSERT_EQ(block.failures().size(), 3u);
  EXPECT_EQ(block.failures()[0].status.message(),
            "field 'sound': begins with \"a te\": neither WAV, FLAC nor Ogg");
  EXPECT_EQ(block.failures()[1].status.message(),
            "field 'sound': sound of 101 frames and 1 channels is over the limit of 100 samples");
  EXPECT_THAT(std::string(block.failures()[2].status.message()),
              testing::StartsWith("field 'sound': WAV ends early: "));
}

TEST(DecodeAudioTest, WhatCannotBeIsRefusedWithWords) {
  EXPECT_EQ(MessageOf(Build("decode_audio", Params().Set("field", "id"), Files())),
            "field 'id' is int64 []; decode_audio takes the bytes of a sound file: bytes []");
  EXPECT_EQ(
      MessageOf(Build("decode_audio", Params(kSound).Set("rate_field", "id"), Files())),
      "there is a field 'id' already: give rate_field another name, or an empty one for none");
  EXPECT_EQ(MessageOf(Build("decode_audio", Params(kSound).Set("max_samples", 0), Files())),
            "max_samples: expected 1 or more, got 0");
}

}  // namespace
}  // namespace headrace::op_test
