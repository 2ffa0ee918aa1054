#include "client/batch_join.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "element/frame_writer.h"
#include "pipeline/collate/padded_column.h"

namespace headrace {
namespace {

Shape RowShape(const TensorView& batch) { return Shape(batch.shape.dims().subspan(1)); }

// Record `row` of a batch as a cell of its own; numbers and single strings stay where they are.
Cell RowCell(const TensorView& batch, uint64_t row, const Shape& shape, Arena& arena) {
  const auto items = static_cast<size_t>(shape.items());
  const size_t first = row * items;
  if (batch.dtype != DType::kBytes) {
    const size_t row_bytes = batch.bytes / static_cast<size_t>(batch.shape[0]);
    return {batch.data + row * row_bytes, row_bytes, shape};
  }
  if (shape.rank() == 0) {
    const std::string_view text = batch.string(first);
    return {reinterpret_cast<const std::byte*>(text.data()), text.size(), shape};
  }
  std::vector<std::string_view> values(items);
  for (size_t i = 0; i < items; ++i) values[i] = batch.string(first + i);
  return MakeBytesCell(arena, values, shape);
}

// All rows of one field.
absl::StatusOr<std::vector<Cell>> RowCells(std::span<const RowRange> batch, size_t field,
                                           const JoinRule& rule, Arena& arena) {
  const FrameView& first = *batch[0].frame;
  std::vector<Cell> cells;
  for (const RowRange& rows : batch) {
    const FrameView& frame = *rows.frame;
    if (frame.rows() != 1 || frame.columns() != first.columns() ||
        frame.name(field) != first.name(field) || frame.dtype(field) != first.dtype(field)) {
      return DataLoss("batches of tasks {} and {} have other fields", first.task(), frame.task());
    }
    const TensorView view = frame.at(field, 0);
    if (view.shape.rank() == 0 || static_cast<uint64_t>(view.shape[0]) != RecordsIn(frame) ||
        rows.end > RecordsIn(frame)) {
      return DataLoss("field '{}' of a batch of {} records has shape {}", frame.name(field),
                      RecordsIn(frame), view.shape.ToString());
    }
    const Shape shape = RowShape(view);
    if (!cells.empty() &&
        (rule.padded ? shape.rank() != cells[0].shape.rank() : shape != cells[0].shape)) {
      return InvalidArgument(
          "field '{}': rows of shapes {} and {} meet in one batch where two windows of an ordered "
          "epoch meet; use padded_batch or make them equal",
          frame.name(field), cells[0].shape.ToString(), shape.ToString());
    }
    for (uint64_t row = rows.begin; row < rows.end; ++row)
      cells.push_back(RowCell(view, row, shape, arena));
  }
  return cells;
}

}  // namespace

uint64_t RecordsIn(const FrameView& frame) {
  std::vector<Run> runs;
  frame.AppendRuns(0, 1, runs);
  uint64_t records = 0;
  for (const Run& run : runs) records += run.count;
  return records;
}

void AppendRuns(const RowRange& rows, std::vector<Run>& out) {
  std::vector<Run> runs;
  rows.frame->AppendRuns(0, 1, runs);
  uint64_t at = 0;
  for (Run run : runs) {
    const uint64_t from = std::max(rows.begin, at);
    const uint64_t to = std::min(rows.end, at + run.count);
    const uint64_t start = std::exchange(at, at + run.count);
    if (from >= to) continue;
    run.first += from - start;
    run.count = to - from;
    AppendRun(out, run);
  }
}

absl::StatusOr<std::shared_ptr<const FrameView>> JoinRows(std::span<const RowRange> batch,
                                                          uint64_t begin, uint64_t end,
                                                          const JoinRule& rule) {
  const FrameView& first = *batch[0].frame;
  Schema schema;
  for (size_t f = 0; f < first.columns(); ++f) {
    schema.Add({std::string(first.name(f)), first.dtype(f), Shape::Unknown()});
  }
  Block block(std::make_shared<const Schema>(schema));
  std::vector<Cell> columns;
  PaddingCount count;
  for (size_t f = 0; f < first.columns(); ++f) {
    HR_ASSIGN_OR_RETURN(const std::vector<Cell> rows, RowCells(batch, f, rule, block.arena()));
    HR_ASSIGN_OR_RETURN(const PadItem pad, MakePadItem(rule.pad_value, first.dtype(f)));
    const std::span<const Cell> part = std::span(rows).subspan(begin, end - begin);
    HR_ASSIGN_OR_RETURN(
        columns.emplace_back(),
        PadColumn(schema[f], part, CommonShape(rows, Shape::Unknown()), pad, block.arena(), count));
  }
  std::vector<Run> runs;
  uint64_t at = 0;
  for (const RowRange& rows : batch) {
    const uint64_t from = std::max(begin, at);
    const uint64_t to = std::min(end, at + rows.size());
    if (from < to) AppendRuns({rows.frame, rows.begin + from - at, rows.begin + to - at}, runs);
    at += rows.size();
  }
  block.AppendRow(Provenance(runs.begin(), runs.end()), columns);
  FrameMeta meta;
  meta.task = first.task();
  meta.epoch = first.epoch();
  meta.batched = true;
  HR_ASSIGN_OR_RETURN(const Frame frame, WriteFrame(block, meta));
  HR_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> bytes, AllocateFrameBytes(frame.bytes));
  CopyFrame(frame, bytes.get());
  return FrameView::Parse({std::move(bytes), frame.bytes});
}

}  // namespace headrace
