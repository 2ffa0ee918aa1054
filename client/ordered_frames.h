// Frames of ordered lanes, for tests: what a worker's router sends for given rows. Not linked into
// any binary.
#pragma once

#include <memory>
#include <vector>

#include "element/frame_reader.h"
#include "element/frame_writer.h"

namespace headrace {

inline std::shared_ptr<const FrameView> ViewOf(const Frame& frame) {
  std::shared_ptr<std::byte> bytes = *AllocateFrameBytes(frame.bytes);
  CopyFrame(frame, bytes.get());
  return *FrameView::Parse({bytes, frame.bytes});
}

// One batch of the records [first, first + rows) of split `split`: x = split * 1000 + record, and a
// text of it.
inline std::shared_ptr<const FrameView> BatchFrame(uint64_t task, uint64_t split, uint64_t first,
                                                   uint64_t rows, const PiecePlace& place) {
  Block block(std::make_shared<Schema>(
      std::vector<Field>{{"x", DType::kInt64, Shape{-1}}, {"text", DType::kBytes, Shape{-1}}}));
  std::vector<int64_t> x;
  std::vector<std::string> text;
  for (uint64_t i = 0; i < rows; ++i) {
    x.push_back(static_cast<int64_t>(split * 1000 + first + i));
    text.push_back(std::string(i % 3, 'a') + std::to_string(x.back()));
  }
  const std::vector<std::string_view> views(text.begin(), text.end());
  const Shape shape{static_cast<int64_t>(rows)};
  const std::vector<Cell> cells = {MakeCell<int64_t>(block.arena(), x, shape),
                                   MakeBytesCell(block.arena(), views, shape)};
  block.AppendRow({Run{split, first, rows}}, cells);
  FrameMeta meta;
  meta.task = task;
  meta.batched = true;
  meta.place = place;
  return ViewOf(*WriteFrame(block, meta));
}

// The frames of one window of `rows` records of split `split`, as rank `rank` of `ranks` gets them.
inline std::vector<std::shared_ptr<const FrameView>> WindowFrames(uint64_t task, PiecePlace place,
                                                                  uint64_t split, uint64_t rows,
                                                                  uint64_t batch, uint32_t rank,
                                                                  uint32_t ranks) {
  std::vector<std::shared_ptr<const FrameView>> frames;
  const uint64_t part = batch / ranks;
  for (uint64_t first = 0; first + batch <= rows; first += batch) {
    frames.push_back(BatchFrame(task, split, first + rank * part, part, place));
    ++place.piece;
  }
  if (rows % batch != 0) {
    place.rest = true;
    frames.push_back(BatchFrame(task, split, rows - rows % batch, rows % batch, place));
    place.rest = false;
    ++place.piece;
  }
  FrameMeta meta;
  meta.task = task;
  meta.place = place;
  frames.push_back(ViewOf(WriteWindowEnd(meta)));
  return frames;
}

}  // namespace headrace
