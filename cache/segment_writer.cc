#include "cache/segment_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "common/fault_points.h"
#include "common/logging/logging.h"
#include "common/status.h"

namespace headrace {
namespace {

size_t NextFrameAt(size_t bytes) {
  return (bytes + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}

}  // namespace

bool PackedChunk::Fits(const NewFrame& frame) const {
  return frames.empty() || NextFrameAt(bytes) + frame.bytes <= capacity;
}

bool PackedChunk::Add(const NewFrame& frame, size_t usual_capacity) {
  if (frame.bytes == 0 && !frames.empty()) {
    frames.back().count += frame.count;
    return true;
  }
  if (memory == nullptr && frame.bytes > 0) {
    const size_t wanted = SegmentRound(std::max(usual_capacity, bytes + frame.bytes));
    memory = AllocateAligned(wanted);
    if (memory == nullptr) return false;
    capacity = wanted;
  }
  const size_t at = NextFrameAt(bytes);
  frames.push_back({.count = frame.count, .offset = at, .bytes = frame.bytes});
  if (frame.bytes == 0) return true;
  if (at > bytes) std::memset(memory.get() + bytes, 0, at - bytes);
  std::byte* to = memory.get() + at;
  for (const FrameSlice& piece : frame.pieces) {
    if (piece.size > 0) std::memcpy(to, piece.data, piece.size);
    to += piece.size;
  }
  bytes = at + frame.bytes;
  return true;
}

SegmentWriter::SegmentWriter(std::shared_ptr<SegmentShelf> shelf, CacheKey key,
                             std::shared_ptr<void> lease)
    : shelf_(std::move(shelf)),
      key_(std::move(key)),
      lease_(std::move(lease)),
      path_(fmt::format("{}/{}", shelf_->directory(), SegmentFileName(key_, shelf_->NextSerial()))),
      temporary_(path_ + ".tmp"),
      header_(WriteSegmentHeader(key_)) {}

SegmentWriter::~SegmentWriter() { Discard(); }

void SegmentWriter::Discard() {
  if (file_ == nullptr) return;
  file_.reset();
  ::unlink(temporary_.c_str());
  claims_.clear();  // after the bytes are free
}

void SegmentWriter::Fail(FillDrop reason) {
  if (!failed_.exchange(true)) shelf_->counters().FillDropped(reason);
}

void SegmentWriter::FailWith(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) {
    shelf_->NoteFull();
    Fail(FillDrop::kDiskFull);
  } else {
    LogWarning("cache: {}", OneLine(status));
    Fail(FillDrop::kError);
  }
}

absl::Status SegmentWriter::Put(std::span<const std::byte> bytes) {
  if (!shelf_->Claim(bytes.size(), claims_)) return absl::AbortedError("");
  HR_RETURN_IF_ERROR(file_->WriteAt(offset_, bytes));
  offset_ += bytes.size();
  return absl::OkStatus();
}

absl::Status SegmentWriter::WriteChunk(PackedChunk& chunk) {
  if (file_ == nullptr) {
    AlignedMemory header = AllocateAligned(header_.size());
    if (header == nullptr) return Internal("no memory for a header");
    std::memcpy(header.get(), header_.data(), header_.size());
    HR_ASSIGN_OR_RETURN(file_, SegmentFile::Create(temporary_, shelf_->direct()));
    HR_RETURN_IF_ERROR(Put({header.get(), header_.size()}));
  }
  index_.chunks.push_back({.offset = offset_,
                           .bytes = chunk.bytes,
                           .checksum = SegmentChecksum({chunk.memory.get(), chunk.bytes}),
                           .frames = chunk.frames.size()});
  for (const SegmentFrame& frame : chunk.frames) {
    index_.frames.push_back(frame);
    index_.records += frame.count;
  }
  if (chunk.bytes == 0) return absl::OkStatus();
  const size_t rounded = SegmentRound(chunk.bytes);
  std::memset(chunk.memory.get() + chunk.bytes, 0, rounded - chunk.bytes);
  return Put({chunk.memory.get(), rounded});
}

void SegmentWriter::Write(PackedChunk chunk) {
  if (!failed_) {
    const absl::Duration start = shelf_->clock().Steady();
    const absl::Status status = WriteChunk(chunk);
    time_ += shelf_->clock().Steady() - start;
    if (absl::IsAborted(status)) {
      Fail(FillDrop::kNoRoom);
    } else if (!status.ok()) {
      FailWith(status);
    }
  }
  if (failed_) Discard();
}

absl::Status SegmentWriter::WriteEnd() {
  const std::string end = WriteSegmentEnd(index_, offset_, header_);
  AlignedMemory memory = AllocateAligned(end.size());
  if (memory == nullptr) return Internal("no memory for a footer");
  std::memcpy(memory.get(), end.data(), end.size());
  HR_RETURN_IF_ERROR(Put({memory.get(), end.size()}));
  HR_RETURN_IF_ERROR(file_->Sync());
  HR_RETURN_IF_ERROR(FaultPoint("cache.segment.commit"));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, fmt::format("rename {}", temporary_));
  }
  return absl::OkStatus();
}

void SegmentWriter::Finish() {
  if (failed_ || file_ == nullptr) return Discard();
  const absl::Duration start = shelf_->clock().Steady();
  const absl::Status status = WriteEnd();
  time_ += shelf_->clock().Steady() - start;
  if (absl::IsAborted(status)) {
    Fail(FillDrop::kNoRoom);
  } else if (!status.ok()) {
    FailWith(status);
  }
  if (failed_) return Discard();
  file_.reset();
  TierCounters::Add(shelf_->counters().fills);
  TierCounters::Add(shelf_->counters().filled_bytes, offset_);
  TierCounters::Add(shelf_->counters().fill_nanos, time_);
  shelf_->Add(std::make_shared<KeptSegment>(key_, path_, offset_, index_.records, shelf_->budget(),
                                            std::move(claims_)));
  lease_.reset();
}

}  // namespace headrace
