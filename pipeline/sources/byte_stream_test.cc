#include "pipeline/sources/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "pipeline/sources/memory_file_system.h"
#include "pipeline/sources/testing/compress.h"

namespace headrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_sources::Gzip;
using testing_sources::Zlib;
using testing_sources::Zstd;

// Text that compresses some, larger than the read-ahead.
std::string LongText() {
  std::string out;
  uint64_t x = 1;
  while (out.size() < 3 * ByteStream::kReadAhead + 17) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    out += "word" + std::to_string(x >> 40) + "\n";
  }
  return out;
}

struct Read {
  std::string bytes;
  absl::Status status;
};

Read ReadAll(ByteStream& stream, size_t step) {
  Read out;
  std::string buffer(step, '\0');
  while (true) {
    const auto n = stream.Read(std::as_writable_bytes(std::span(buffer.data(), buffer.size())));
    if (!n.ok()) {
      out.status = n.status();
      return out;
    }
    if (*n == 0) return out;
    out.bytes.append(buffer, 0, *n);
  }
}

Read ReadFile(const std::string& path, std::string_view bytes, size_t step = 64 << 10) {
  MemoryFileSystem files;
  files.Put(path, bytes);
  auto stream = OpenWholeStream(*files.Open(path));
  if (!stream.ok()) return {"", stream.status()};
  return ReadAll(**stream, step);
}

TEST(ByteStreamTest, ARangeIsReadInSmallAndInBigSteps) {
  const std::string text = LongText();
  MemoryFileSystem files;
  files.Put("/a", text);
  for (size_t step : {1000ul, 700ul << 10, 8ul << 20}) {
    auto stream = NewRangeStream(*files.Open("/a"), 5, text.size() - 7);
    const Read read = ReadAll(*stream, step);
    ASSERT_TRUE(read.status.ok()) << read.status;
    EXPECT_TRUE(read.bytes == text.substr(5, text.size() - 12)) << step;
    EXPECT_EQ(stream->file_offset(), text.size() - 7);
  }
}

TEST(ByteStreamTest, AFileCutOffWhileReadingIsAnError) {
  MemoryFileSystem files;
  files.Put("/a", "12345");
  auto stream = NewRangeStream(*files.Open("/a"), 0, 9);
  const Read read = ReadAll(*stream, 100);
  EXPECT_EQ(read.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(read.status.message()), AllOf(HasSubstr("/a"), HasSubstr("byte 5")));
}

TEST(ByteStreamTest, CompressedFilesOfSeveralMembersReadAsOne) {
  const std::string a = LongText();
  const std::string b = "the end\n";
  EXPECT_TRUE(ReadFile("/a.gz", Gzip(a) + Gzip(b)).bytes == a + b);
  EXPECT_TRUE(ReadFile("/a.gz", Gzip(a) + Gzip("") + Gzip(b), 1000).bytes == a + b);
  EXPECT_TRUE(ReadFile("/a.zst", Zstd(a) + Zstd(b)).bytes == a + b);
  EXPECT_TRUE(ReadFile("/a.zst", Zstd(a) + Zstd(b), 1000).bytes == a + b);
  EXPECT_TRUE(ReadFile("/a.zlib", Zlib(a)).bytes == a);
}

// Gives its bytes a few at a time, however many are asked for.
class Trickle final : public ByteStream {
 public:
  Trickle(std::string bytes, size_t step) : bytes_(std::move(bytes)), step_(step) {}
  absl::StatusOr<size_t> Read(std::span<std::byte> out) override {
    const size_t n = std::min({step_, out.size(), bytes_.size() - at_});
    std::memcpy(out.data(), bytes_.data() + at_, n);
    at_ += n;
    return n;
  }
  uint64_t file_offset() const override { return at_; }

 private:
  const std::string bytes_;
  const size_t step_;
  size_t at_ = 0;
};

TEST(ByteStreamTest, MembersMayEndAnywhereInWhatIsReadAtOnce) {
  const std::string text = LongText().substr(0, 5000);
  const struct {
    Codec codec;
    std::string bytes;
  } cases[] = {{Codec::kGzip, Gzip(text) + Gzip("") + Gzip("x") + Gzip(text)},
               {Codec::kZlib, Zlib(text) + Zlib("x") + Zlib("") + Zlib(text)},
               {Codec::kZstd, Zstd(text) + Zstd("x") + Zstd("") + Zstd(text)}};
  for (const auto& c : cases) {
    for (size_t in = 1; in < 40; in += 1 + in / 10) {
      for (size_t out : {1ul, 7ul, 5000ul}) {
        const auto stream =
            NewDecompressingStream(c.codec, std::make_unique<Trickle>(c.bytes, in), "/a");
        const Read read = ReadAll(*stream, out);
        ASSERT_TRUE(read.status.ok()) << Name(c.codec) << in << " " << out << read.status;
        ASSERT_TRUE(read.bytes == text + "x" + text) << Name(c.codec) << in << " " << out;
      }
    }
    // Cut anywhere, it is never taken for whole.
    for (size_t cut = 1; cut < c.bytes.size(); cut += 13) {
      const auto stream = NewDecompressingStream(
          c.codec, std::make_unique<Trickle>(c.bytes.substr(0, cut), 64), "/a");
      const Read read = ReadAll(*stream, 1000);
      ASSERT_TRUE(text + "x" + text != read.bytes || !read.status.ok()) << Name(c.codec) << cut;
    }
  }
}

TEST(ByteStreamTest, MagicBeatsTheName) {
  EXPECT_EQ(ReadFile("/a.txt", Gzip("text")).bytes, "text");
  EXPECT_EQ(ReadFile("/a.gz", Zstd("text")).bytes, "text");
  EXPECT_EQ(ReadFile("/a.txt", "x^ is plain text").bytes, "x^ is plain text");
  const Read read = ReadFile("/a.gz", "no gzip");
  EXPECT_EQ(read.status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(read.status.message()), HasSubstr("/a.gz"));
}

TEST(ByteStreamTest, ZerosAfterAGzipMemberArePadding) {
  const Read read = ReadFile("/a.gz", Gzip("text") + std::string(5000, '\0'));
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.bytes, "text");
  EXPECT_EQ(ReadFile("/a.gz", Gzip("text") + "junk").status.code(), absl::StatusCode::kDataLoss);
}

TEST(ByteStreamTest, ACutOffFileGivesWhatItHasThenAnErrorWithTheOffset) {
  const std::string text = LongText();
  for (const auto& [path, whole] :
       {std::pair{"/a.gz", Gzip(text)}, std::pair{"/a.zst", Zstd(text)}}) {
    const size_t cut = whole.size() / 2;
    const Read read = ReadFile(path, whole.substr(0, cut));
    EXPECT_EQ(read.status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(
        std::string(read.status.message()),
        AllOf(HasSubstr(path), HasSubstr("byte " + std::to_string(cut)), HasSubstr("cut off")));
    EXPECT_GT(read.bytes.size(), text.size() / 4);
    EXPECT_TRUE(text.starts_with(read.bytes));
  }
}

TEST(ByteStreamTest, AFlippedByteIsFound) {
  const std::string text = LongText();
  for (const auto& [path, whole] :
       {std::pair{"/a.gz", Gzip(text)}, std::pair{"/a.zst", Zstd(text)}}) {
    std::string bad = whole;
    bad[bad.size() / 2] ^= 0x10;
    const Read read = ReadFile(path, bad);
    // ZSTD_compress writes no checksum of the content: damage may show as another text.
    if (std::string_view(path) == "/a.gz") {
      EXPECT_EQ(read.status.code(), absl::StatusCode::kDataLoss);
      EXPECT_THAT(std::string(read.status.message()),
                  AllOf(HasSubstr(path), HasSubstr("compressed byte")));
    }
    EXPECT_FALSE(read.bytes == text);
  }
}

TEST(MemoryFileSystemTest, ListsLikeALocalOne) {
  MemoryFileSystem files;
  for (const char* path : {"/d/b.txt", "/d/a.txt", "/d/_x.txt", "/d/e/c.txt"}) files.Put(path, "1");
  EXPECT_EQ(files.List("/d")->size(), 3u);
  EXPECT_EQ(files.List("/d/*.txt")->size(), 2u);
  EXPECT_EQ(files.List("/d/**/*.txt")->size(), 3u);
  EXPECT_EQ(files.List("/d/_x.txt")->size(), 1u);
  EXPECT_EQ(files.List("/q").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace headrace
