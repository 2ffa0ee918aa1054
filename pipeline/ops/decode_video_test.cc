#include "pipeline/ops/op_harness.h"
#include "pipeline/video/test_clips.h"

namespace headrace::op_test {
namespace {

const Params kClip = Params().Set("field", "clip");
Schema Files() { return Schema({{"clip", DType::kBytes, {}}, {"id", DType::kInt64, {}}}); }

TEST(DecodeVideoTest, TheAskedFramesComeOut) {
  auto step = Build("decode_video", Params(kClip).Set("every", 3).Set("start", 1).Set("frames", 2),
                    Files());
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{clip: uint8 [?, ?, ?, 3], id: int64 []}");
  const TestClip clip = MakeClip(9, 16, 24);
  Block block =
      Rows(step->input, {{Text(EncodeClip(ClipKind::kMatroskaFfv1, clip)), Num<int64_t>(1)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  ASSERT_EQ(block.rows(), 1u);
  EXPECT_EQ(block.column(0)[0].shape, (Shape{2, 16, 24, 3}));
  const size_t frame = 16 * 24 * 3;
  const std::vector<uint8_t> got = Column<uint8_t>(block, 0);
  for (size_t i = 0; i < frame; ++i) {
    ASSERT_EQ(got[i], clip.pixels[1 * frame + i]);
    ASSERT_EQ(got[frame + i], clip.pixels[4 * frame + i]);
  }
}

TEST(DecodeVideoTest, AnAskedSizeIsInTheSchema) {
  auto step =
      Build("decode_video", Params(kClip).Set("size", std::vector<int64_t>{8, 12}), Files());
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ((*step->output)[0].shape, (Shape{-1, 8, 12, 3}));
  Block block = Rows(
      step->input, {{Text(EncodeClip(ClipKind::kAviMjpeg, MakeClip(3, 16, 24))), Num<int64_t>(1)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.column(0)[0].shape, (Shape{3, 8, 12, 3}));
}

TEST(DecodeVideoTest, ABadClipFailsItsRowAlone) {
  auto step = Build("decode_video", Params(kClip).Set("max_pixels", 1000), Files());
  ASSERT_TRUE(step.ok());
  const std::string good = EncodeClip(ClipKind::kMp4Mpeg4, MakeClip(3, 16, 24));
  Block block = Rows(step->input,
                     {{Text("a text, not a clip"), Num<int64_t>(1)},
                      {Text(good), Num<int64_t>(2)},
                      {Text(EncodeClip(ClipKind::kMp4Mpeg4, MakeClip(3, 32, 48))), Num<int64_t>(3)},
                      {Text(good.substr(0, good.size() / 3)), Num<int64_t>(4)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int64_t>(block, 1), (std::vector<int64_t>{2}));
  ASSERT_EQ(block.failures().size(), 3u);
  EXPECT_THAT(std::string(block.failures()[0].status.message()),
              testing::StartsWith("field 'clip': no video clip of a known kind: "));
  EXPECT_EQ(block.failures()[1].status.message(),
            "field 'clip': frames of 32 x 48 (height x width) are over the limit of 1000 pixels");
}

TEST(DecodeVideoTest, WhatCannotBeIsRefusedWithWords) {
  EXPECT_EQ(MessageOf(Build("decode_video", Params().Set("field", "id"), Files())),
            "field 'id' is int64 []; decode_video takes the bytes of a video clip: bytes []");
  EXPECT_EQ(MessageOf(Build("decode_video", Params(kClip).Set("every", 0), Files())),
            "every: expected 1 to 1099511627776, got 0");
  EXPECT_THAT(MessageOf(Build("decode_video", Params(kClip).Set("time_limit", 0.0), Files())),
              testing::StartsWith("time_limit: expected"));
}

}  // namespace
}  // namespace headrace::op_test
