#include "transport/tcp/codecs.h"

#include "gtest/gtest.h"
#include "transport/transport_test_peers.h"

namespace headrace::tcp {
namespace {

constexpr uint32_t kBoth = kLz4 | kZstd;
constexpr size_t kMiB = size_t{1} << 20;

// What the chooser would settle on, after both codecs were tried.
Codec Settled(CodecChooser& chooser, double lz4_rate, double zstd_rate, double lz4_ratio,
              double zstd_ratio) {
  Codec last = Codec::kNone;
  for (int i = 0; i < 50; ++i) {
    last = chooser.Choose(kMiB);
    if (last == Codec::kNone) continue;
    const double rate = last == Codec::kLz4 ? lz4_rate : zstd_rate;
    const double ratio = last == Codec::kLz4 ? lz4_ratio : zstd_ratio;
    chooser.OnCompressed(last, kMiB, static_cast<size_t>(ratio * kMiB),
                         absl::Seconds(static_cast<double>(kMiB) / rate));
  }
  return last;
}

TEST(CodecsTest, FramesComeBackAndDamagedOnesDoNot) {
  const Frame plain = MarkedFrame(7, 50000);
  for (const Codec codec : {Codec::kLz4, Codec::kZstd}) {
    const CodedFrame coded = Compress(codec, plain);
    ASSERT_NE(coded.bytes, nullptr);
    EXPECT_LT(coded.size, 1000u);
    std::vector<std::byte> back(plain.bytes);
    ASSERT_TRUE(Decompress(codec, {coded.bytes.get(), coded.size}, back).ok());
    EXPECT_EQ(back[40000], std::byte{7});
    // Cut short, or said to be of another size.
    EXPECT_FALSE(Decompress(codec, {coded.bytes.get(), coded.size - 1}, back).ok());
    back.resize(plain.bytes + 1);
    EXPECT_FALSE(Decompress(codec, {coded.bytes.get(), coded.size}, back).ok());
  }
}

TEST(CodecChooserTest, AFastLinkIsLeftAloneAndASlowOneCompressed) {
  CodecChooser unknown(Compression::kAuto, kBoth);
  EXPECT_EQ(unknown.Choose(kMiB), Codec::kNone);  // nothing says that the link is slow
  CodecChooser loopback(Compression::kAuto, kBoth);
  loopback.OnSent(30 * kMiB, absl::Milliseconds(10));
  EXPECT_EQ(Settled(loopback, 340e6, 270e6, 0.5, 0.4), Codec::kNone);
  CodecChooser gigabit(Compression::kAuto, kBoth);
  gigabit.OnSent(12 * kMiB, absl::Milliseconds(100));  // 125 MB/s: 8 ms a MiB; zstd 3.9 + 3.4
  EXPECT_EQ(Settled(gigabit, 340e6, 270e6, 0.64, 0.40), Codec::kZstd);
  CodecChooser slow(Compression::kAuto, kBoth);
  slow.OnSent(kMiB, absl::Milliseconds(100));
  EXPECT_EQ(Settled(slow, 340e6, 270e6, 0.64, 0.43), Codec::kZstd);
}

TEST(CodecChooserTest, DataThatDoesNotShrinkIsSentAsItIs) {
  CodecChooser chooser(Compression::kAuto, kBoth);
  chooser.OnSent(kMiB, absl::Milliseconds(100));
  EXPECT_EQ(Settled(chooser, 340e6, 270e6, 1.0, 0.99), Codec::kNone);
}

TEST(CodecChooserTest, AForcedCodecIsUsedWhenTheClientTakesIt) {
  EXPECT_EQ(CodecChooser(Compression::kLz4, kBoth).Choose(kMiB), Codec::kLz4);
  EXPECT_EQ(CodecChooser(Compression::kZstd, kBoth).Choose(kMiB), Codec::kZstd);
  EXPECT_EQ(CodecChooser(Compression::kZstd, kLz4).Choose(kMiB), Codec::kNone);
  EXPECT_EQ(CodecChooser(Compression::kNone, kBoth).Choose(kMiB), Codec::kNone);
  EXPECT_EQ(CodecChooser(Compression::kLz4, kBoth).Choose(100), Codec::kNone);
  EXPECT_FALSE(ParseCompression("gzip").ok());
}

}  // namespace
}  // namespace headrace::tcp
