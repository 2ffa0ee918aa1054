// Frames for tests of the client: `rows` records of field "x", whose values count up from `first`.
// Not linked into any binary.
#pragma once

#include <cstring>
#include <memory>

#include "element/frame_reader.h"
#include "element/frame_writer.h"

namespace headrace {

struct TestFrame {
  uint64_t task = 1;
  uint64_t sequence = 0;
  uint64_t epoch = 0;
  uint64_t first = 0;
  uint64_t rows = 1;
  size_t padding = 0;  // bytes of field "pad" in each row
};

// As a worker sends it. The records are those of split 0.
inline Frame MakeFrame(const TestFrame& spec) {
  Block block(std::make_shared<Schema>(
      std::vector<Field>{{"x", DType::kInt64, Shape()},
                         {"pad", DType::kUInt8, Shape{static_cast<int64_t>(spec.padding)}}}));
  const std::vector<uint8_t> padding(spec.padding);
  for (uint64_t i = 0; i < spec.rows; ++i) {
    const std::vector<Cell> cells = {
        MakeScalarCell<int64_t>(block.arena(), static_cast<int64_t>(spec.first + i)),
        MakeCell<uint8_t>(block.arena(), padding, Shape{static_cast<int64_t>(spec.padding)})};
    block.AppendRow({Run{0, spec.first + i, 1}}, cells);
  }
  return *WriteFrame(block, {spec.task, spec.sequence, spec.epoch, 0, false});
}

// As a client has it.
inline std::shared_ptr<const FrameView> MakeView(const TestFrame& spec) {
  const Frame frame = MakeFrame(spec);
  std::shared_ptr<std::byte> bytes = *AllocateFrameBytes(frame.bytes);
  CopyFrame(frame, bytes.get());
  return *FrameView::Parse({bytes, frame.bytes});
}

}  // namespace headrace
