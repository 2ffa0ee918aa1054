// The decompressing streams of byte_stream.h: ISA-L's inflate and zstd, fed a read-ahead at a time.
#include <isa-l/igzip_lib.h>
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
  // The last n bytes taken since the last Refill that read anything.
  void PutBack(size_t n) { at_ -= std::min(n, at_); }
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

// gzip and zlib by ISA-L, which inflates two to three times as fast as zlib.
class InflateStream final : public ByteStream {
 public:
  InflateStream(Codec codec, std::unique_ptr<ByteStream> input, std::string_view path)
      : codec_(codec), input_(std::move(input), path), state_(std::make_unique<inflate_state>()) {
    isal_inflate_init(state_.get());
  }

  absl::StatusOr<size_t> Read(std::span<std::byte> out) override {
    const size_t room = std::min<size_t>(out.size(), 1u << 30);
    while (failed_.ok()) {
      const bool asked = between_ || starved_;
      bool more = true;
      if (asked) {
        HR_ASSIGN_OR_RETURN(more, input_.Refill());
      }
      if (between_) {
        if (more && SkipPadding()) continue;
        if (!more) return 0;
        StartMember();
      }
      const auto given = static_cast<uint32_t>(input_.size());
      state_->next_in = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(input_.data()));
      state_->avail_in = given;
      state_->next_out = reinterpret_cast<uint8_t*>(out.data());
      state_->avail_out = static_cast<uint32_t>(room);
      const int result = isal_inflate(state_.get());
      const size_t taken = given - state_->avail_in;
      input_.Take(taken);
      const size_t made = room - state_->avail_out;
      starved_ = state_->avail_out > 0;
      if (result < 0 || result == ISAL_NEED_DICT) {
        failed_ = input_.Damaged(codec_, Reason(result));
      } else if (state_->block_state == ISAL_BLOCK_FINISH) {
        // Whole bytes behind the member that it has looked at already are the next one's.
        input_.PutBack(static_cast<size_t>(state_->read_in_length / 8));
        between_ = true;
      } else if (asked && taken == 0 && made == 0) {
        failed_ = more ? input_.Damaged(codec_, "it leads nowhere") : input_.CutOff(codec_);
      }
      // What was made before the damage goes out first.
      if (made > 0) return made;
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
  void StartMember() {
    isal_inflate_reset(state_.get());
    state_->crc_flag = codec_ == Codec::kGzip ? ISAL_GZIP : ISAL_ZLIB;
    started_ = true;
    between_ = false;
  }
  static std::string_view Reason(int result) {
    switch (result) {
      case ISAL_INVALID_WRAPPER:
        return "no valid header";
      case ISAL_UNSUPPORTED_METHOD:
        return "an unknown method of compression";
      case ISAL_INCORRECT_CHECKSUM:
        return "the checksum of the content is wrong";
      case ISAL_NEED_DICT:
        return "it needs a preset dictionary";
      default:
        return "no valid block";
    }
  }

  const Codec codec_;
  CompressedInput input_;
  const std::unique_ptr<inflate_state> state_;
  bool started_ = false;
  bool between_ = true;  // before the first member, or behind one
  // It has used up its input, not only filled the output. Before that, a new buffer must not take
  // the place of the one that the bytes come from which it has looked at beyond the member's end.
  bool starved_ = true;
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
