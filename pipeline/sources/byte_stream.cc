#include "pipeline/sources/byte_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "common/status.h"

namespace headrace {
namespace {

class RangeStream final : public ByteStream {
 public:
  RangeStream(std::unique_ptr<RandomAccessFile> file, uint64_t begin, uint64_t end)
      : file_(std::move(file)), next_(begin), end_(std::max(begin, end)) {
    file_->WillReadSequentially(begin, end_);
  }

  absl::StatusOr<size_t> Read(std::span<std::byte> out) override {
    // Big reads go straight to where they are wanted; small ones through a read-ahead.
    if (at_ == filled_ && out.size() >= kReadAhead / 2) return Fill(out);
    if (at_ == filled_) {
      if (buffer_ == nullptr) buffer_ = std::make_unique_for_overwrite<std::byte[]>(kReadAhead);
      at_ = filled_ = 0;
      HR_ASSIGN_OR_RETURN(filled_, Fill({buffer_.get(), kReadAhead}));
    }
    const size_t n = std::min(out.size(), filled_ - at_);
    if (n > 0) std::memcpy(out.data(), buffer_.get() + at_, n);
    at_ += n;
    return n;
  }

  uint64_t file_offset() const override { return next_ - (filled_ - at_); }

 private:
  absl::StatusOr<size_t> Fill(std::span<std::byte> out) {
    const size_t want = static_cast<size_t>(std::min<uint64_t>(out.size(), end_ - next_));
    if (want == 0) return 0;
    HR_ASSIGN_OR_RETURN(const size_t n, file_->ReadAt(next_, out.first(want)));
    if (n < want) {
      return FailedPrecondition(
          "{}: ends at byte {} and had {} bytes when it was opened; it was cut off while being "
          "read",
          file_->info().path, next_ + n, file_->info().size);
    }
    next_ += n;
    return n;
  }

  const std::unique_ptr<RandomAccessFile> file_;
  uint64_t next_;  // first byte not read from the file
  const uint64_t end_;
  std::unique_ptr<std::byte[]> buffer_;  // made when first needed
  size_t at_ = 0;
  size_t filled_ = 0;
};

}  // namespace

std::string_view Name(Codec codec) {
  switch (codec) {
    case Codec::kNone:
      return "none";
    case Codec::kGzip:
      return "gzip";
    case Codec::kZlib:
      return "zlib";
    case Codec::kZstd:
      return "zstd";
  }
  return "?";
}

std::unique_ptr<ByteStream> NewRangeStream(std::unique_ptr<RandomAccessFile> file, uint64_t begin,
                                           uint64_t end) {
  return std::make_unique<RangeStream>(std::move(file), begin, end);
}

Codec CodecByName(std::string_view path) {
  const auto ends = [&](std::string_view suffix) {
    return absl::EndsWithIgnoreCase({path.data(), path.size()}, {suffix.data(), suffix.size()});
  };
  if (ends(".gz") || ends(".tgz")) return Codec::kGzip;
  if (ends(".zst") || ends(".zstd") || ends(".tzst")) return Codec::kZstd;
  if (ends(".zz") || ends(".zlib")) return Codec::kZlib;
  return Codec::kNone;
}

Codec CodecByMagic(std::span<const std::byte> head) {
  const auto is = [&](size_t i, unsigned value) {
    return head[i] == static_cast<std::byte>(value);
  };
  if (head.size() >= 3 && is(0, 0x1f) && is(1, 0x8b) && is(2, 8)) return Codec::kGzip;
  if (head.size() >= 4) {
    if (is(0, 0x28) && is(1, 0xb5) && is(2, 0x2f) && is(3, 0xfd)) return Codec::kZstd;
    // A skippable frame, as pzstd writes in front.
    if ((head[0] & std::byte{0xf0}) == std::byte{0x50} && is(1, 0x2a) && is(2, 0x4d) &&
        is(3, 0x18)) {
      return Codec::kZstd;
    }
  }
  return Codec::kNone;
}

bool LooksLikeZlib(std::span<const std::byte> head) {
  if (head.size() < 2) return false;
  const unsigned cmf = std::to_integer<unsigned>(head[0]);
  const unsigned flags = std::to_integer<unsigned>(head[1]);
  return (cmf & 0x0f) == 8 && (cmf >> 4) <= 7 && (cmf * 256 + flags) % 31 == 0 &&
         (flags & 0x20) == 0;
}

absl::StatusOr<Codec> DetectCodec(RandomAccessFile& file) {
  std::array<std::byte, 8> bytes;
  HR_ASSIGN_OR_RETURN(const size_t n, file.ReadAt(0, bytes));
  const std::span<const std::byte> head(bytes.data(), n);
  const Codec named = CodecByName(file.info().path);
  const Codec found = CodecByMagic(head);
  if (found != Codec::kNone) return found;
  if (named == Codec::kZlib && LooksLikeZlib(head)) return Codec::kZlib;
  if (named == Codec::kNone || n == 0) return Codec::kNone;
  return DataLoss(
      "{}: byte 0: is named like a {} file and does not begin like one; rename it or write it "
      "again",
      file.info().path, Name(named));
}

absl::StatusOr<std::unique_ptr<ByteStream>> OpenWholeStream(
    std::unique_ptr<RandomAccessFile> file) {
  HR_ASSIGN_OR_RETURN(const Codec codec, DetectCodec(*file));
  const std::string path = file->info().path;
  const uint64_t size = file->info().size;
  std::unique_ptr<ByteStream> stream = NewRangeStream(std::move(file), 0, size);
  if (codec == Codec::kNone) return stream;
  return NewDecompressingStream(codec, std::move(stream), path);
}

}  // namespace headrace
