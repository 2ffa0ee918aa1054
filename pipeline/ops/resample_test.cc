#include "common/npy_file.h"
#include "pipeline/audio/test_sounds.h"
#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

Params At(int64_t rate) { return Params().Set("field", "sound").Set("rate", rate); }
Schema Sounds(Shape shape) {
  return Schema({{"sound", DType::kFloat32, shape}, {"sample_rate", DType::kInt64, {}}});
}

TEST(ResampleTest, EachRowComesFromItsOwnRateToTheAskedOne) {
  auto step = Build("resample", At(8000), Sounds({-1}));
  ASSERT_TRUE(step.ok()) << step.status();
  const auto in = ReadGolden("audio_at_16000");
  const auto golden = ReadGolden("audio_from_16000_to_8000");
  ASSERT_TRUE(in.ok() && golden.ok()) << in.status() << golden.status();
  Block block = Rows(step->input, {{Nums<float>(in->as<float>()), Num<int64_t>(16000)},
                                   {Nums<float>({1, 2, 3}), Num<int64_t>(8000)},
                                   {Nums<float>({}), Num<int64_t>(44100)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  ASSERT_EQ(block.rows(), 3u);
  const std::vector<float> expected = golden->as<float>();  // SciPy's
  const auto got = block.column(0)[0].as<float>();
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-3);
  EXPECT_EQ(block.column(0)[1].shape, (Shape{3}));
  EXPECT_EQ(block.column(0)[2].shape, (Shape{0}));
  EXPECT_EQ(Column<int64_t>(block, 1), (std::vector<int64_t>{8000, 8000, 8000}));
}

TEST(ResampleTest, ARateMayBeSaidOnceForAllRows) {
  auto step = Build("resample", At(16000).Set("from_rate", 48000),
                    Schema({{"sound", DType::kFloat32, {-1, 2}}}));
  ASSERT_TRUE(step.ok()) << step.status();
  Block block = Rows(step->input, {{Nums<float>(MakeTone(4800, 2, 48000), {4800, 2})}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.column(0)[0].shape, (Shape{1600, 2}));
}

TEST(ResampleTest, AnImpossibleRateFailsItsRow) {
  auto step = Build("resample", At(1'000'000), Sounds({-1}));
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Nums<float>({1, 2}), Num<int64_t>(0)},
                                   {Nums<float>(std::vector<float>(30000)), Num<int64_t>(100)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  ASSERT_EQ(block.failures().size(), 2u);
  EXPECT_EQ(block.failures()[0].status.message(),
            "field 'sound': sample rate 0 Hz: expected 100 to 1000000");
  EXPECT_EQ(block.failures()[1].status.message(),
            "field 'sound': at 1000000 Hz it is 300000000 frames of 1 channels, over the limit of "
            "268435456 samples");
}

TEST(ResampleTest, WhatCannotBeIsRefusedWithWords) {
  EXPECT_EQ(MessageOf(Build("resample", At(8000), Schema({{"sound", DType::kFloat32, {-1}}}))),
            "no field 'sample_rate' says the present rate: name one in rate_field (decode_audio "
            "makes it), or say from_rate");
  EXPECT_EQ(MessageOf(Build("resample", At(8000), Schema({{"sound", DType::kBytes, {}}}))),
            "field 'sound' is bytes; decode it first with decode_audio");
  EXPECT_EQ(MessageOf(Build("resample", At(8), Sounds({-1}))),
            "rate: sample rate 8 Hz: expected 100 to 1000000");
}

}  // namespace
}  // namespace headrace::op_test
