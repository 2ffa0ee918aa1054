#include "cache/block_codec.h"

#include <cstring>
#include <utility>

#include "common/status.h"
#include "element/frame_reader.h"
#include "element/frame_writer.h"

namespace headrace {
namespace {

constexpr size_t kTargetBytes = 1 << 20;  // of a frame of many small rows

// A bytes cell of several strings needs its offsets in front of its data.
Cell StringsCell(const TensorView& view, Arena& arena) {
  const auto items = static_cast<size_t>(view.shape.items());
  const size_t index_bytes = (items + 1) * sizeof(int64_t);
  std::byte* memory = arena.AllocatePacked(index_bytes + view.bytes, alignof(int64_t));
  auto* offsets = reinterpret_cast<int64_t*>(memory);
  for (size_t i = 0; i <= items; ++i) offsets[i] = view.offsets[i] - view.offsets[0];
  if (view.bytes > 0) {
    std::memcpy(memory + index_bytes, view.data + view.offsets[0], view.bytes);
  }
  return {memory, index_bytes + view.bytes, view.shape};
}

Cell CellOf(const TensorView& view, Arena& arena) {
  if (view.dtype != DType::kBytes) return {view.data, view.bytes, view.shape};
  if (view.shape.rank() == 0) return {view.data + view.offsets[0], view.bytes, view.shape};
  return StringsCell(view, arena);
}

absl::Status CheckSchema(const FrameView& view, const Schema& schema) {
  if (view.columns() != schema.size()) {
    return DataLoss("it has {} fields, {} are expected", view.columns(), schema.size());
  }
  for (size_t i = 0; i < schema.size(); ++i) {
    if (view.name(i) != schema[i].name || view.dtype(i) != schema[i].dtype) {
      return DataLoss("its field {} is '{}' of {}, expected '{}' of {}", i, view.name(i),
                      Name(view.dtype(i)), schema[i].name, Name(schema[i].dtype));
    }
  }
  return absl::OkStatus();
}

// Records [from, to) have no row.
void Settle(uint64_t split, uint64_t from, uint64_t to, Block& block) {
  if (from < to) AppendRun(block.settled(), Run{.split = split, .first = from, .count = to - from});
}

}  // namespace

absl::StatusOr<std::vector<CoveredFrame>> EncodeBlock(const Block& block, uint64_t first,
                                                      uint64_t count) {
  uint64_t next = first;
  for (size_t row = 0; row < block.rows(); ++row) {
    const Provenance& runs = block.provenance(row);
    if (runs.size() != 1 || runs[0].count != 1 || runs[0].parts != 1 || runs[0].first < next ||
        runs[0].first - first >= count) {
      return FailedPrecondition("rows that are not single records in their order");
    }
    next = runs[0].first + 1;
  }
  std::vector<CoveredFrame> out;
  if (block.rows() == 0) {
    out.push_back({first, count, {}});
    return out;
  }
  uint64_t covered = first;
  for (size_t row = 0; row < block.rows();) {
    const size_t end = FrameEnd(block, row, kTargetBytes);
    const uint64_t to = end == block.rows() ? first + count : block.provenance(end).front().first;
    HR_ASSIGN_OR_RETURN(Frame frame, WriteFrame(block, row, end, FrameMeta()));
    out.push_back({covered, to - covered, std::move(frame)});
    covered = to;
    row = end;
  }
  return out;
}

absl::StatusOr<Block> DecodeFrame(const StoredFrame& stored, const SchemaPtr& schema,
                                  uint64_t split) {
  const uint64_t end = stored.first + stored.count;
  Block block(schema);
  if (stored.frame.size == 0) {
    Settle(split, stored.first, end, block);
    return block;
  }
  HR_ASSIGN_OR_RETURN(std::shared_ptr<const FrameView> view, FrameView::Parse(stored.frame));
  HR_RETURN_IF_ERROR(CheckSchema(*view, *schema));
  std::vector<Run> runs;
  view->AppendRuns(0, view->rows(), runs);
  block.Reserve(view->rows());
  block.arena().Adopt(view, stored.frame.size);
  std::vector<Cell> cells(schema->size());
  uint64_t next = stored.first;
  size_t row = 0;
  for (const Run& run : runs) {
    if (run.parts != 1 || run.first < next || run.first >= end || run.count > end - run.first ||
        run.count > view->rows() - row) {
      return DataLoss("its rows are not of records {} to {}", stored.first, end);
    }
    Settle(split, next, run.first, block);
    for (uint64_t i = 0; i < run.count; ++i, ++row) {
      for (size_t field = 0; field < schema->size(); ++field) {
        const TensorView tensor = view->at(field, row);
        if (!(*schema)[field].shape.Admits(tensor.shape)) {
          return DataLoss("its field '{}' has shape {}, expected {}", (*schema)[field].name,
                          tensor.shape.ToString(), (*schema)[field].shape.ToString());
        }
        cells[field] = CellOf(tensor, block.arena());
      }
      block.AppendRow({Run{.split = split, .first = run.first + i, .count = 1}}, cells);
    }
    next = run.first + run.count;
  }
  if (row != view->rows()) return DataLoss("its rows are not single records");
  Settle(split, next, end, block);
  return block;
}

}  // namespace headrace
