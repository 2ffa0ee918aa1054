#include "common/npy_file.h"
#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Params kMel = Params().Set("field", "sound").Set("sample_rate", 16000).Set("n_mels", 24);
Schema Sounds() {
  return Schema({{"sound", DType::kFloat32, {-1}}, {"sample_rate", DType::kInt64, {}}});
}

// What librosa makes of it: in decibels within 1e-3, else within 2e-5 of the value.
void ExpectLikeLibrosa(const Params& params, const std::string& name) {
  auto step = Build("mel_spectrogram", params, Sounds());
  ASSERT_TRUE(step.ok()) << step.status();
  const auto in = ReadGolden("audio_mel_in");
  const auto golden = ReadGolden(name);
  ASSERT_TRUE(in.ok() && golden.ok()) << in.status() << golden.status();
  Block block = Rows(step->input, {{Nums<float>(in->as<float>()), Num<int64_t>(16000)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  ASSERT_EQ(block.rows(), 1u);
  EXPECT_EQ(block.column(0)[0].shape, Shape(golden->shape));
  const std::vector<float> got = Column<float>(block, 0), expected = golden->as<float>();
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], 2e-5 * std::max(50.0f, std::abs(expected[i]))) << name;
}

TEST(MelSpectrogramStepTest, TheDefaultsAreTorchaudios) {
  ExpectLikeLibrosa(kMel, "audio_mel_torchaudio");
}

TEST(MelSpectrogramStepTest, LibrosasDefaultsCanBeSaid) {
  const Params librosa = Params()
                             .Set("field", "sound")
                             .Set("sample_rate", 16000)
                             .Set("n_fft", 512)
                             .Set("hop_length", 128)
                             .Set("n_mels", 20)
                             .Set("f_min", 50.0)
                             .Set("f_max", 7600.0)
                             .Set("mel_scale", "slaney")
                             .Set("norm", "slaney")
                             .Set("pad_mode", "zero");
  ExpectLikeLibrosa(librosa, "audio_mel_librosa");
  ExpectLikeLibrosa(Params(librosa).Set("log", "db").Set("top_db", 30.0), "audio_mel_db");
}

TEST(MelSpectrogramStepTest, TheSchemaSaysTheShape) {
  EXPECT_EQ(Build("mel_spectrogram", kMel, Sounds())->output->ToString(),
            "{sound: float32 [24, ?], sample_rate: int64 []}");
  EXPECT_EQ(
      Build("mel_spectrogram", Params(kMel).Set("time_first", true), Sounds())->output->ToString(),
      "{sound: float32 [?, 24], sample_rate: int64 []}");
}

TEST(MelSpectrogramStepTest, ASoundOfAnotherRateOrTooShortFailsItsRow) {
  auto step = Build("mel_spectrogram", kMel, Sounds());
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Nums<float>(std::vector<float>(500)), Num<int64_t>(8000)},
                                   {Nums<float>(std::vector<float>(9)), Num<int64_t>(16000)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  ASSERT_EQ(block.failures().size(), 2u);
  EXPECT_EQ(block.failures()[0].status.message(),
            "field 'sound': sound at 8000 Hz where sample_rate is 16000; bring it there with "
            "resample");
  EXPECT_EQ(block.failures()[1].status.message(),
            "field 'sound': sound of 9 samples is too short to be mirrored by n_fft / 2 = 200; "
            "pad_mode: zero takes it");
}

TEST(MelSpectrogramStepTest, WhatCannotBeIsRefusedWithWords) {
  EXPECT_EQ(MessageOf(Build("mel_spectrogram", Params(kMel).Set("log", "log2"), Sounds())),
            "log: expected none, db, ln or log10, got 'log2'");
  EXPECT_EQ(MessageOf(Build("mel_spectrogram", Params(kMel).Set("n_fft", 0), Sounds())),
            "n_fft: expected 2 to 1048576, got 0");
  EXPECT_EQ(
      MessageOf(Build("mel_spectrogram", kMel, Schema({{"sound", DType::kFloat32, {-1, 2}}}))),
      "field 'sound' is float32 [?, 2]; mel_spectrogram takes float32 [frames] (decode_audio "
      "with mono: true makes it)");
}

}  // namespace
}  // namespace headrace::op_test
