#include "worker/ordered_router.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "element/frame_writer.h"

namespace headrace {
namespace {

// Rows [begin, end) of a bytes cell: its offsets begin at 0 again.
Cell CutStrings(Arena& arena, const Cell& cell, uint64_t begin, uint64_t end, const Shape& shape) {
  const size_t row_items =
      static_cast<size_t>(cell.shape.items()) / static_cast<size_t>(cell.shape[0]);
  const size_t first = begin * row_items;
  const size_t items = (end - begin) * row_items;
  const auto* offsets = reinterpret_cast<const int64_t*>(cell.data);
  const std::byte* data =
      cell.data + (static_cast<size_t>(cell.shape.items()) + 1) * sizeof(int64_t);
  const auto bytes = static_cast<size_t>(offsets[first + items] - offsets[first]);
  const size_t index_bytes = (items + 1) * sizeof(int64_t);
  std::byte* out = arena.Allocate(index_bytes + bytes);
  auto* to = reinterpret_cast<int64_t*>(out);
  for (size_t i = 0; i <= items; ++i) to[i] = offsets[first + i] - offsets[first];
  if (bytes != 0) std::memcpy(out + index_bytes, data + offsets[first], bytes);
  return {out, index_bytes + bytes, shape};
}

Provenance CutRuns(const Provenance& runs, uint64_t begin, uint64_t end) {
  Provenance out;
  uint64_t at = 0;
  for (Run run : runs) {
    const uint64_t from = std::max(begin, at);
    const uint64_t to = std::min(end, at + run.count);
    at += run.count;
    if (from >= to) continue;
    run.first += from - (at - run.count);
    run.count = to - from;
    AppendRun(out, run);
  }
  return out;
}

}  // namespace

uint64_t RecordsOf(const Block& block) {
  uint64_t records = 0;
  for (const Run& run : block.provenance(0)) records += run.count;
  return records;
}

absl::StatusOr<Block> CutBatch(const Block& block, uint64_t begin, uint64_t end) {
  const uint64_t records = RecordsOf(block);
  Block out(block.schema_ptr());
  std::vector<Cell> cells;
  for (size_t f = 0; f < block.columns().size(); ++f) {
    const Cell& cell = block.column(f)[0];
    const Field& field = block.schema()[f];
    if (cell.shape.rank() == 0 || static_cast<uint64_t>(cell.shape[0]) != records ||
        end > records || begin >= end) {
      return Internal(
          "field '{}' of a batch of {} records has shape {}: ordering deterministic "
          "needs one row a record there",
          field.name, records, cell.shape.ToString());
    }
    Shape shape = cell.shape;
    shape[0] = static_cast<int64_t>(end - begin);
    if (field.dtype == DType::kBytes) {
      cells.push_back(CutStrings(out.arena(), cell, begin, end, shape));
      continue;
    }
    const size_t row_bytes = cell.bytes / records;
    cells.push_back({cell.data + begin * row_bytes, (end - begin) * row_bytes, shape});
  }
  out.AppendRow(CutRuns(block.provenance(0), begin, end), cells);
  return out;
}

OrderedRouter::OrderedRouter(uint64_t task, uint64_t epoch, const v1::OrderedTask& lane)
    : task_(task), epoch_(epoch), lane_(lane), taken_(std::max(1u, lane.ranks())) {}

void OrderedRouter::BeginWindow(uint64_t window) {
  absl::MutexLock lock(&mutex_);
  windows_.push_back(window);
}

void OrderedRouter::Add(std::shared_ptr<FrameStream> stream) {
  absl::MutexLock lock(&mutex_);
  const uint32_t rank = stream->open().rank();
  if (rank >= taken_.size()) {
    stream->Finish(InvalidArgument("rank {} of {}: ranks count from 0", rank, taken_.size()));
    return;
  }
  if (taken_[rank] != 0) {
    // Pieces that every rank had are not kept. Without this word a reader whose lane has nothing
    // more to send would wait for ever.
    stream->Finish(Unavailable(
        "task {}: what it has sent to rank {} went to an earlier stream; its work has to "
        "be made again",
        task_, rank));
    return;
  }
  lines_.push_back({std::move(stream), rank, first_, 0});
}

void OrderedRouter::Remove(const FrameStream* stream) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(lines_, [stream](const Line& line) { return line.stream.get() == stream; });
}

void OrderedRouter::FinishAll() {
  std::vector<Line> lines;
  {
    absl::MutexLock lock(&mutex_);
    lines.swap(lines_);
  }
  for (Line& line : lines) line.stream->Finish(absl::OkStatus());
}

absl::Status OrderedRouter::Pump(OutputQueue& output) {
  absl::MutexLock lock(&mutex_);
  while (true) {
    for (Line& line : lines_) HR_RETURN_IF_ERROR(Send(line));
    DropTaken();
    if (!Take(output)) return absl::OkStatus();
  }
}

bool OrderedRouter::Take(OutputQueue& output) {
  if (lines_.empty() || windows_.empty() || (!pieces_.empty() && bytes_ >= kKeptBytes)) {
    return false;
  }
  std::optional<Block> block = output.TryPop();
  if (!block) return false;
  PiecePlace place{.lane = lane_.lane(), .window = windows_.front(), .piece = piece_++};
  if (block->rows() == 0) {
    place.window_end = true;
    windows_.pop_front();
    piece_ = 0;
  } else {
    place.rest = RecordsOf(*block) < lane_.batch_rows();
  }
  const uint64_t bytes = block->bytes();
  bytes_ += bytes;
  pieces_.push_back({*std::move(block), place, bytes});
  return true;
}

absl::Status OrderedRouter::Send(Line& line) {
  while (line.next < first_ + pieces_.size()) {
    if (!line.stream->ready()) return absl::OkStatus();
    HR_ASSIGN_OR_RETURN(Frame frame, MakeFrame(pieces_[line.next - first_], line));
    if (!line.stream->TryWrite(frame)) return absl::OkStatus();
    ++line.next;
    ++line.sent;
    taken_[line.rank] = std::max(taken_[line.rank], line.next);
  }
  return absl::OkStatus();
}

absl::StatusOr<Frame> OrderedRouter::MakeFrame(const Piece& piece, const Line& line) const {
  FrameMeta meta;
  meta.task = task_;
  meta.epoch = epoch_;
  meta.batched = true;
  meta.sequence = line.sent;
  meta.place = piece.place;
  if (piece.place.window_end) return WriteWindowEnd(meta);
  const uint64_t ranks = taken_.size();
  if (ranks == 1 || piece.place.rest) return WriteFrame(piece.block, meta);
  const uint64_t part = lane_.batch_rows() / ranks;
  HR_ASSIGN_OR_RETURN(const Block cut,
                      CutBatch(piece.block, line.rank * part, (line.rank + 1) * part));
  HR_ASSIGN_OR_RETURN(Frame frame, WriteFrame(cut, meta));
  frame.owners.push_back(piece.block.arena_ptr());
  return frame;
}

void OrderedRouter::DropTaken() {
  const uint64_t least = *std::ranges::min_element(taken_);
  while (first_ < least) {
    bytes_ -= pieces_.front().bytes;
    pieces_.pop_front();
    ++first_;
  }
}

}  // namespace headrace
