// A block: some records on their way through a chain of steps, column by column. The unit of work
// of the engine: one thread carries one block through a whole fused chain, so nothing here is
// locked and nothing is allocated per row beyond the block's arena.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "element/arena.h"
#include "element/provenance.h"
#include "element/schema.h"

namespace headrace {

// One tensor of one row; borrows bytes that the block's arenas keep. Its dtype is the column's.
// Numeric: items() * ItemSize bytes, C order. Scalar bytes (rank 0): the string itself. Bytes with
// rank > 0: items()+1 little-endian int64 offsets (the first is 0), then the data (Arrow's large
// binary layout).
struct Cell {
  const std::byte* data = nullptr;
  size_t bytes = 0;
  Shape shape;

  // The string of a scalar bytes cell.
  std::string_view string() const { return {reinterpret_cast<const char*>(data), bytes}; }
  // Item i of a bytes cell of any rank.
  std::string_view string(size_t i) const;
  // Numeric items; T must be the column's type.
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data), bytes / sizeof(T)};
  }
};

// Why a row left the stream without becoming output. kDropped: it is not this task's to settle
// (another shard's, delivered before).
enum class RowEnd : uint8_t { kLive = 0, kFiltered, kFailed, kDropped };

struct RowFailure {
  Run record;            // which record; of a batch, the first
  absl::Status status;   // what happened; the message names path and offset where they are known
  uint64_t records = 1;  // how many ended by it: all of a batch
};

class Block {
 public:
  explicit Block(SchemaPtr schema);
  // A block that is to leave in a frame: its arena takes from `frames`, which may be null.
  Block(SchemaPtr schema, std::shared_ptr<FrameMemory> frames);
  Block(Block&&) = default;
  Block& operator=(Block&&) = default;

  const Schema& schema() const { return *schema_; }
  const SchemaPtr& schema_ptr() const { return schema_; }
  // After a step changed the columns: the new schema; column(i) must follow it.
  void SetSchema(SchemaPtr schema) { schema_ = std::move(schema); }

  size_t rows() const { return provenance_.size(); }
  std::vector<Cell>& column(size_t field) { return columns_[field]; }
  const std::vector<Cell>& column(size_t field) const { return columns_[field]; }
  std::vector<std::vector<Cell>>& columns() { return columns_; }
  const std::vector<std::vector<Cell>>& columns() const { return columns_; }
  const Provenance& provenance(size_t row) const { return provenance_[row]; }
  Provenance& provenance(size_t row) { return provenance_[row]; }

  // Adds a row; cells.size() must equal the number of columns.
  void AppendRow(Provenance provenance, std::span<const Cell> cells);

  // Room for `rows` rows in all.
  void Reserve(size_t rows);

  // Memory for new cells. Lives as long as this block and every row taken from it.
  Arena& arena() { return *arena_; }
  const Arena& arena() const { return *arena_; }
  const ArenaPtr& arena_ptr() const { return arena_; }

  // Marks a row as left out: filtered by the pipeline's own rule, or failed. It stays until
  // Compact().
  void Filter(size_t row);
  void Fail(size_t row, absl::Status status);
  void Drop(size_t row);
  // A record that never became a row (a damaged one in the file).
  void FailRecord(const Run& record, absl::Status status);
  bool live(size_t row) const { return ends_.empty() || ends_[row] == RowEnd::kLive; }
  // Drops marked rows; their runs move to settled() or dropped(). Steps see blocks that hold live
  // rows only.
  void Compact();

  // Runs that ended here without output, so far. Travels with the block until the worker reports
  // it.
  std::vector<Run>& settled() { return settled_; }
  const std::vector<Run>& settled() const { return settled_; }
  // Runs of rows that were dropped: counted, never reported.
  std::vector<Run>& dropped() { return dropped_; }
  const std::vector<Run>& dropped() const { return dropped_; }
  std::vector<RowFailure>& failures() { return failures_; }
  const std::vector<RowFailure>& failures() const { return failures_; }

  // Rows change blocks without a copy of their bytes: arenas are shared. Live rows only.
  // Cuts off the first `count` rows (count <= rows); what ended so far goes with them. The new
  // block counts the bytes of its own cells, this one goes on to count its arena's.
  Block TakeFront(size_t count);
  // Moves the rows of `from`, and what ended in it, behind this block's. Same columns.
  void Append(Block from);

  // Bytes of the cells alone: what the rows would take without what else lies in their arenas.
  size_t live_bytes() const;
  // Bytes that this block keeps alive.
  size_t bytes() const { return arena_->bytes() + rows() * columns_.size() * sizeof(Cell); }

 private:
  void Mark(size_t row, RowEnd end);

  SchemaPtr schema_;
  ArenaPtr arena_;
  std::vector<std::vector<Cell>> columns_;
  std::vector<Provenance> provenance_;
  std::vector<RowEnd> ends_;  // empty while all rows are live
  std::vector<Run> settled_;
  std::vector<Run> dropped_;
  std::vector<RowFailure> failures_;
};

// Cells with values of their own, in `arena`.
Cell MakeBytesCell(Arena& arena, std::string_view value);
Cell MakeBytesCell(Arena& arena, std::span<const std::string_view> values, Shape shape);
template <typename T>
Cell MakeCell(Arena& arena, std::span<const T> values, Shape shape) {
  std::byte* data = arena.AllocatePacked(values.size_bytes(), alignof(T));
  if (!values.empty()) std::memcpy(data, values.data(), values.size_bytes());
  return {data, values.size_bytes(), shape};
}
template <typename T>
Cell MakeScalarCell(Arena& arena, T value) {
  return MakeCell<T>(arena, std::span<const T>(&value, 1), Shape());
}

}  // namespace headrace
