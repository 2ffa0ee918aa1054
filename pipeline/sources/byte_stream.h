// Bytes of a file from front to back, decompressed where they are compressed. Owned by one reader,
// used by one thread at a time, blocking. After an error a stream is of no further use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/sources/file_system.h"

namespace headrace {

enum class Codec : uint8_t { kNone = 0, kGzip, kZlib, kZstd };
// "none", "gzip", ...
std::string_view Name(Codec codec);

class ByteStream {
 public:
  static constexpr size_t kReadAhead = 1 << 20;  // bytes asked of the file at once

  virtual ~ByteStream() = default;
  // Up to out.size() (> 0) bytes; 0 only at the end. DATA_LOSS for damaged compressed bytes, with
  // path and compressed offset: what could be decompressed before the damage has been handed out by
  // then.
  virtual absl::StatusOr<size_t> Read(std::span<std::byte> out) = 0;
  // How far into the file what was handed out so far reaches (in compressed bytes, for compressed
  // files).
  virtual uint64_t file_offset() const = 0;
};

// The bytes [begin, end) of `file`. FAILED_PRECONDITION when the file has become shorter than that.
std::unique_ptr<ByteStream> NewRangeStream(std::unique_ptr<RandomAccessFile> file, uint64_t begin,
                                           uint64_t end);

// Undoes `codec` (not kNone): gzip members, zlib streams and zstd frames may follow each other.
// `path` is for messages.
std::unique_ptr<ByteStream> NewDecompressingStream(Codec codec, std::unique_ptr<ByteStream> input,
                                                   std::string_view path);

// What the file's name ends in says: .gz .tgz .zst .zstd .tzst .zz .zlib, any case.
Codec CodecByName(std::string_view path);
// What the first bytes say: gzip or zstd. (zlib has no magic that text cannot have; see
// LooksLikeZlib.)
Codec CodecByMagic(std::span<const std::byte> head);
bool LooksLikeZlib(std::span<const std::byte> head);
// By magic; the name is asked for zlib only. DATA_LOSS when the name promises a codec and the bytes
// are not of it. Reads a few bytes.
absl::StatusOr<Codec> DetectCodec(RandomAccessFile& file);

// The whole of `file`, decompressed where DetectCodec says so.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenWholeStream(std::unique_ptr<RandomAccessFile> file);

}  // namespace headrace
