// The decompressing streams of byte_stream.h: zlib's inflate and zstd, fed a read-ahead at a time.
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/status.h"
#include "pipeline/sources/byte_stream.h"

namespace headrace {
namespace {

// The compressed bytes that a decoder has not taken yet.
class CompressedInput {
 public:
  CompressedInput(std::unique_ptr<ByteStream> stream, std::string_view path)
      : stream_(std::move(stream)),
        path_(path),
        buffer_(std::make_unique_for_overwrite<std::byte[]>(ByteStream::kReadAhead)) {}

  // Reads more when nothing is left; false at the end of the file.
  absl::StatusOr<bool> Refill() {
    if (at_ < filled_) return true;
    at_ = filled_ = 0;
    HR_ASSIGN_OR_RETURN(filled_, stream_->Read({buffer_.get(), ByteStream::kReadAhead}));
    return filled_ > 0;
  }
  const std::byte* data() const { return buffer_.get() + at_; }
  size_t size() const { return filled_ - at_; }
  void Take(size_t n) { at_ += n; }
  uint64_t offset() const { return stream_->file_offset() - size(); }

  absl::Status Damaged(Codec codec, std::string_view what) const {
    return DataLoss("{}: compressed byte {}: {} data is damaged ({}); write the file again", path_,
                    offset(), Name(codec), what);
  }
  absl::Status CutOff(Codec codec) const {
    return DataLoss(
        "{}: compressed byte {}: the file ends in the middle of its {} data; it was cut off, copy "
        "it again",
        path_, offset(), Name(codec));
  }

 private:
  const std::unique_ptr<ByteStream> stream_;
  const std::string path_;
  const std::unique_ptr<std::byte[]> buffer_;
  size_t at_ = 0;
  size_t filled_ = 0;
};

class InflateStream final : public ByteStream {
 public:
  InflateStream(Codec codec, std::unique_ptr<ByteStream> input, std::string_view path)
      : codec_(codec), input_(std::move(input), path) {
    // 16 on top of the window bits asks for the gzip wrapper.
    ready_ = inflateInit2(&zlib_, codec == Codec::kGzip ? MAX_WBITS + 16 : MAX_WBITS) == Z_OK;
  }
  ~InflateStream() override {
    if (ready_) inflateEnd(&zlib_);
  }

  absl::StatusOr<size_t> Read(std::span<std::byte> out) override {
    if (!ready_) return ResourceExhausted("no memory for a {} decoder", Name(codec_));
    const size_t room = std::min<size_t>(out.size(), 1u << 30);
    while (failed_.ok()) {
      HR_ASSIGN_OR_RETURN(const bool more, input_.Refill());
      if (between_) {
        if (more && SkipPadding()) continue;
        if (!more) return 0;
        HR_RETURN_IF_ERROR(StartMember());
      }
      if (!more) return input_.CutOff(codec_);
      zlib_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input_.data()));
      zlib_.avail_in = static_cast<uInt>(input_.size());
      zlib_.next_out = reinterpret_cast<Bytef*>(out.data());
      zlib_.avail_out = static_cast<uInt>(room);
      const int result = inflate(&zlib_, Z_NO_FLUSH);
      input_.Take(input_.size() - zlib_.avail_in);
      if (result == Z_STREAM_END) {
        between_ = true;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        failed_ = input_.Damaged(codec_, Reason(result));
      }
      // What was made before the damage goes out first.
      if (const size_t made = room - zlib_.avail_out; made > 0) return made;
    }
    return failed_;
  }

  uint64_t file_offset() const override { return input_.offset(); }

 private:
  // gzip's habit: zeros after a member are padding (tapes, block devices).
  bool SkipPadding() {
    if (!started_ || codec_ != Codec::kGzip || *input_.data() != std::byte{0}) return false;
    size_t zeros = 0;
    while (zeros < input_.size() && input_.data()[zeros] == std::byte{0}) ++zeros;
    input_.Take(zeros);
    return true;
  }
  absl::Status StartMember() {
    if (started_ && inflateReset(&zlib_) != Z_OK) return input_.Damaged(codec_, "no new member");
    started_ = true;
    between_ = false;
    return absl::OkStatus();
  }
  std::string_view Reason(int result) const {
    if (zlib_.msg != nullptr) return zlib_.msg;
    return result == Z_NEED_DICT ? "it needs a preset dictionary" : "no valid stream";
  }

  const Codec codec_;
  CompressedInput input_;
  z_stream zlib_{};
  bool ready_ = false;
  bool started_ = false;
  bool between_ = true;  // before the first member, or behind one
  absl::Status failed_;
};

class ZstdStream final : public ByteStream {
 public:
  ZstdStream(std::unique_ptr<ByteStream> input, std::string_view path)
      : input_(std::move(input), path), decoder_(ZSTD_createDStream()) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> out) override {
    if (decoder_ == nullptr) return ResourceExhausted("no memory for a zstd decoder");
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    while (failed_.ok()) {
      HR_ASSIGN_OR_RETURN(const bool more, input_.Refill());
      if (!more && between_) return 0;
      // Without new input there may still be output that did not fit before.
      ZSTD_inBuffer in{input_.data(), input_.size(), 0};
      const size_t result = ZSTD_decompressStream(decoder_.get(), &output, &in);
      input_.Take(in.pos);
      if (ZSTD_isError(result)) failed_ = input_.Damaged(Codec::kZstd, ZSTD_getErrorName(result));
      between_ = result == 0;
      if (output.pos > 0) return output.pos;
      if (!more && failed_.ok() && !between_) failed_ = input_.CutOff(Codec::kZstd);
    }
    return failed_;
  }

  uint64_t file_offset() const override { return input_.offset(); }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  CompressedInput input_;
  const std::unique_ptr<ZSTD_DStream, Free> decoder_;
  bool between_ = true;  // before the first frame, or behind one
  absl::Status failed_;
};

}  // namespace

std::unique_ptr<ByteStream> NewDecompressingStream(Codec codec, std::unique_ptr<ByteStream> input,
                                                   std::string_view path) {
  if (codec == Codec::kZstd) return std::make_unique<ZstdStream>(std::move(input), path);
  return std::make_unique<InflateStream>(codec, std::move(input), path);
}

}  // namespace headrace
