// Compression of single frames: lz4 and zstd, and when it pays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "element/frame.h"
#include "transport/tcp/wire_format.h"

namespace headrace::tcp {

struct CodedFrame {
  std::shared_ptr<std::byte> bytes;
  size_t size = 0;
};
// Larger frames are sent as they are (lz4 counts in ints).
inline constexpr size_t kMaxCodedBytes = size_t{1} << 30;

// Empty when the result would not be smaller. Thread-safe.
CodedFrame Compress(Codec codec, const Frame& frame);
// `to` has the frame's size. DATA_LOSS when the bytes are no such frame.
absl::Status Decompress(Codec codec, std::span<const std::byte> from, std::span<std::byte> to);

// What `compression: auto|none|lz4|zstd` of a worker's config says.
enum class Compression { kAuto, kNone, kLz4, kZstd };
// INVALID_ARGUMENT names the words.
absl::StatusOr<Compression> ParseCompression(std::string_view word);

// Chooses a codec per frame for one connection. With kAuto by measurement: the link's speed while
// it is the bottleneck (bytes that left while more waited), and each codec's speed and ratio on
// frames of this stream, tried every now and then. Plain arithmetic, no clock, one thread.
class CodecChooser {
 public:
  // `features`: what the client takes.
  CodecChooser(Compression wanted, uint32_t features);

  Codec Choose(size_t frame_bytes);
  // `in` bytes became `out` (in, when it did not shrink) within `took`.
  void OnCompressed(Codec codec, size_t in, size_t out, absl::Duration took);
  // The socket took `bytes` within `took`, and there was more to send all the time.
  void OnSent(size_t bytes, absl::Duration took);

  double link_bytes_per_second() const { return link_; }

 private:
  struct Measured {
    double seconds_per_byte = 0;  // of compressing
    double ratio = 1;             // out / in
    bool known = false;
  };
  Measured& of(Codec codec) { return codec == Codec::kLz4 ? lz4_ : zstd_; }

  const Compression wanted_;
  const uint32_t features_;
  double link_ = 0;  // 0: not measured yet
  Measured lz4_;
  Measured zstd_;
  uint64_t frames_ = 0;
};

}  // namespace headrace::tcp
