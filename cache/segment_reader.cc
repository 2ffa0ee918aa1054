#include "cache/segment_reader.h"

#include <span>
#include <utility>

#include "common/status.h"

namespace headrace {
namespace {

// Header, trailer and footer of a usual segment in one read each.
struct Piece {
  AlignedMemory memory;
  std::span<std::byte> bytes;
};

absl::StatusOr<Piece> ReadPiece(SegmentFile& file, uint64_t offset, uint64_t bytes) {
  Piece piece;
  const uint64_t rounded = SegmentRound(bytes);
  piece.memory = AllocateAligned(rounded);
  if (piece.memory == nullptr) return ResourceExhausted("no memory for {} bytes", rounded);
  piece.bytes = {piece.memory.get(), static_cast<size_t>(rounded)};
  HR_RETURN_IF_ERROR(file.ReadAt(offset, piece.bytes));
  return piece;
}

}  // namespace

absl::StatusOr<OpenedSegment> OpenSegment(const std::string& path, const CacheKey& key,
                                          bool direct) {
  OpenedSegment out;
  HR_ASSIGN_OR_RETURN(out.file, SegmentFile::Open(path, direct));
  SegmentFile& file = *out.file;
  if (file.bytes() < 2 * kSegmentAlignment || file.bytes() % kSegmentAlignment != 0) {
    return OutOfRange("it was cut off: it has {} bytes", file.bytes());
  }
  HR_ASSIGN_OR_RETURN(const Piece header, ReadPiece(file, 0, kSegmentAlignment));
  HR_ASSIGN_OR_RETURN(const CacheKey held, ParseSegmentHeader(header.bytes));
  if (!(held == key)) return NotFound("its header is another split's");
  HR_ASSIGN_OR_RETURN(const Piece last,
                      ReadPiece(file, file.bytes() - kSegmentAlignment, kSegmentAlignment));
  HR_ASSIGN_OR_RETURN(
      const SegmentTrailer trailer,
      ParseSegmentTrailer(last.bytes.last(kSegmentTrailerBytes), header.bytes, file.bytes()));
  HR_ASSIGN_OR_RETURN(const Piece footer,
                      ReadPiece(file, trailer.footer_offset, file.bytes() - trailer.footer_offset));
  HR_ASSIGN_OR_RETURN(out.index,
                      ParseSegmentFooter(footer.bytes.first(trailer.footer_bytes), trailer));
  return out;
}

absl::Status SegmentReader::ReadChunk() {
  const SegmentChunk& chunk = segment_.index.chunks[next_chunk_++];
  frames_left_ = chunk.frames;
  chunk_.reset();
  if (chunk.bytes == 0) return absl::OkStatus();
  HR_ASSIGN_OR_RETURN(Piece piece, ReadPiece(*segment_.file, chunk.offset, chunk.bytes));
  if (SegmentChecksum(piece.bytes.first(chunk.bytes)) != chunk.checksum) {
    return DataLoss("the checksum of its {} bytes at offset {} is wrong", chunk.bytes,
                    chunk.offset);
  }
  chunk_ = std::shared_ptr<std::byte>(piece.memory.release(), FreeAligned());
  return absl::OkStatus();
}

absl::StatusOr<std::optional<StoredFrame>> SegmentReader::Next() {
  while (frames_left_ == 0) {
    if (next_chunk_ == segment_.index.chunks.size()) return std::optional<StoredFrame>();
    HR_RETURN_IF_ERROR(ReadChunk());
  }
  --frames_left_;
  const SegmentFrame& frame = segment_.index.frames[next_frame_++];
  StoredFrame out{.first = record_, .count = frame.count, .frame = {}};
  record_ += frame.count;
  if (frame.bytes > 0) {
    out.frame = {std::shared_ptr<const std::byte>(chunk_, chunk_.get() + frame.offset),
                 static_cast<size_t>(frame.bytes)};
  }
  return std::optional<StoredFrame>(std::move(out));
}

}  // namespace headrace
