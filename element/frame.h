// A frame: what moves from a worker to a client. proto/headrace/v1/frame.proto says how its bytes
// lie: prefix, FrameHeader, padding, payload; every column starts 64-byte aligned.
//
// Frame is the sending side's form: small header bytes of its own, and slices that borrow the
// block's cells. FrameBuffer is the receiving side's form: the same bytes, contiguous, or in a few
// pieces that lie where the sender had them. Neither is thread-safe; both may move between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace headrace {

inline constexpr size_t kFrameAlignment = 64;
inline constexpr size_t kFramePrefixBytes = 8;  // magic and header length
inline constexpr char kFrameMagic[4] = {'H', 'R', 'F', '1'};
// A record may have 1 GiB (architecture.md, "Limits"); the rest is for header, offsets and padding.
// Config key: transport.max_frame_bytes.
inline constexpr size_t kDefaultMaxFrameBytes = (size_t{1} << 30) + (size_t{16} << 20);
inline constexpr size_t kMaxFrameHeaderBytes = size_t{32} << 20;

// Where a frame stands in its lane (`ordering: deterministic`; frame.proto's OrderedPiece).
struct PiecePlace {
  uint32_t lane = 0;
  uint64_t window = 0;
  uint64_t piece = 0;
  bool rest = false;
  bool window_end = false;
};

struct FrameSlice {
  const std::byte* data = nullptr;
  size_t size = 0;
};

struct Frame {
  std::string header;                               // prefix, FrameHeader, padding to 64 bytes
  std::vector<FrameSlice> payload;                  // padding included
  std::vector<std::shared_ptr<const void>> owners;  // keep what `payload` borrows
  size_t bytes = 0;                                 // header and payload
  // Each column (and each bytes column's offsets, and its data) lies in one slice: a receiver can
  // use the slices where they are.
  bool whole_columns = false;
};

// One received frame. `data` is kFrameAlignment-aligned and keeps its memory alive.
struct FrameBuffer {
  std::shared_ptr<const std::byte> data;
  size_t size = 0;
  // Empty: all `size` bytes lie at `data`. Else the frame is these pieces, one after another; the
  // first lies at `data` and has the header, no column lies in two, and a piece that begins at byte
  // k of the frame lies at k modulo kFrameAlignment. `data` keeps all of them alive.
  std::vector<FrameSlice> pieces = {};
};

// Bytes needed in front of something to bring `offset` to the next multiple of 64.
inline size_t FramePadding(size_t offset) {
  return (kFrameAlignment - offset % kFrameAlignment) % kFrameAlignment;
}

// `size` uninitialised, aligned bytes, for drivers without a pool and for tests. RESOURCE_EXHAUSTED
// when there is no memory.
absl::StatusOr<std::shared_ptr<std::byte>> AllocateFrameBytes(size_t size);
// The frame's bytes written to `to`, which has room for frame.bytes (or frame.size).
void CopyFrame(const Frame& frame, std::byte* to);
void CopyFrame(const FrameBuffer& frame, std::byte* to);

}  // namespace headrace
