#include "pipeline/ops/batching.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/status.h"
#include "pipeline/collate/column_builder.h"
#include "pipeline/collate/ends.h"
#include "pipeline/ops/image_field.h"

namespace headrace {
namespace {

// Enough for any use; keeps sums of sizes far from overflow.
constexpr int64_t kMaxSize = int64_t{1} << 30;
// A batch that a core's caches cannot hold until it is sent.
constexpr size_t kStreamedBytes = size_t{4} << 20;

class BatchState final : public OpState {
 public:
  BatchState(SchemaPtr rows, SchemaPtr output, const BatchParams& params,
             std::shared_ptr<FrameMemory> memory, std::shared_ptr<const PixelScaling> scaling)
      : rows_schema_(std::move(rows)),
        output_(std::move(output)),
        memory_(std::move(memory)),
        size_(static_cast<size_t>(params.size)),
        drop_remainder_(params.drop_remainder),
        scaling_(std::move(scaling)) {
    for (const Field& field : rows_schema_->fields()) columns_.emplace_back(field, size_);
  }

  absl::Status Push(Block block, Emit emit) override {
    ends_.TakeFrom(block);
    for (size_t row = 0; row < block.rows();) {
      if (!batch_) {
        if (absl::Status status = Scalable(block, row); !status.ok()) {
          ends_.Fail(block.provenance(row++), std::move(status));
          continue;
        }
        HR_RETURN_IF_ERROR(Start(block, row));
      }
      row = Choose(block, row);
      for (size_t f = 0; f < columns_.size(); ++f) {
        if (Scaled(f)) {
          AppendScaled(columns_[f], block.column(f));
        } else {
          columns_[f].Append(block.column(f), chosen_);
        }
      }
      rows_ += chosen_.size();
      if (rows_ == size_) EmitBatch(emit);
    }
    if (!ends_.empty()) EmitEnds(emit);
    return absl::OkStatus();
  }

  absl::Status Finish(Emit emit) override {
    if (rows_ > 0 && !drop_remainder_) {
      EmitBatch(emit);
    } else if (rows_ > 0) {
      ends_.Settle(provenance_);
      EmitEnds(emit);
    }
    Reset();
    return absl::OkStatus();
  }

  size_t held_bytes() const override {
    if (!batch_) return 0;
    size_t bytes = batch_->arena().bytes() + provenance_.capacity() * sizeof(Run);
    for (const ColumnBuilder& column : columns_) bytes += column.held_bytes();
    return bytes;
  }

 private:
  // Begins a batch whose shapes are those of `row`.
  absl::Status Start(const Block& block, size_t row) {
    batch_.emplace(output_, memory_);
    for (size_t f = 0; f < columns_.size(); ++f) {
      const Shape& shape = block.column(f)[row].shape;
      if (shape.rank() >= Shape::kMaxRank) {
        return InvalidArgument(
            "batch: field '{}' of {} has {} dimensions; there is no room for one more",
            (*rows_schema_)[f].name, RecordName(block.provenance(row)), shape.rank());
      }
      HR_RETURN_IF_ERROR(
          columns_[f].Start(Scaled(f) ? scaling_->ShapeAfter(shape) : shape, batch_->arena()));
      if (Scaled(f)) image_shape_ = shape;
    }
    first_ = block.provenance(row);
    return absl::OkStatus();
  }

  // Fills chosen_ with the rows from `row` on that go into the open batch; fails those that do not
  // fit. Returns the row to go on with.
  size_t Choose(const Block& block, size_t row) {
    chosen_.clear();
    for (; row < block.rows() && rows_ + chosen_.size() < size_; ++row) {
      const size_t misfit = Misfit(block, row);
      if (misfit < columns_.size()) {
        ends_.Fail(block.provenance(row), WrongShape(block, row, misfit));
        continue;
      }
      chosen_.push_back(static_cast<uint32_t>(row));
      for (const Run& run : block.provenance(row)) AppendRun(provenance_, run);
    }
    return row;
  }

  // The first field whose shape is not the batch's; columns_.size() when all are.
  size_t Misfit(const Block& block, size_t row) const {
    size_t f = 0;
    while (f < columns_.size() && Fits(block.column(f)[row], f)) ++f;
    return f;
  }

  absl::Status WrongShape(const Block& block, size_t row, size_t f) const {
    return InvalidArgument(
        "batch: {} has {} {} where the batch, begun by {}, has {}; use padded_batch or make them "
        "equal",
        RecordName(block.provenance(row)), (*rows_schema_)[f].name,
        block.column(f)[row].shape.ToString(), RecordName(first_),
        (Scaled(f) ? image_shape_ : columns_[f].shape()).ToString());
  }

  bool Scaled(size_t f) const { return scaling_ != nullptr && f == scaling_->image().at; }
  bool Fits(const Cell& cell, size_t f) const {
    return Scaled(f) ? cell.shape == image_shape_ : columns_[f].Fits(cell);
  }
  // Whether `row`, which is to begin a batch, has an image that can be scaled; rows after it have
  // its shape.
  absl::Status Scalable(const Block& block, size_t row) const {
    if (scaling_ == nullptr) return absl::OkStatus();
    const ImageField& image = scaling_->image();
    const Cell& cell = block.column(image.at)[row];
    absl::Status status = CheckImage(cell);
    if (status.ok()) status = scaling_->Check(cell.shape);
    return status.ok() ? status : Annotate(status, fmt::format("field '{}'", image.name));
  }
  void AppendScaled(ColumnBuilder& column, std::span<const Cell> cells) {
    std::byte* to = column.Extend(chosen_.size());
    const Stores stores =
        size_ * column.row_bytes() >= kStreamedBytes ? Stores::kStreamed : Stores::kCached;
    for (uint32_t row : chosen_) {
      scaling_->Write(cells[row], reinterpret_cast<float*>(to), stores);
      to += column.row_bytes();
    }
  }

  void EmitBatch(Emit emit) {
    cells_.clear();
    for (ColumnBuilder& column : columns_) cells_.push_back(column.Finish());
    batch_->AppendRow(std::move(provenance_), cells_);
    ends_.GiveTo(*batch_);
    Block out = *std::move(batch_);
    Reset();
    emit(std::move(out));
  }

  void EmitEnds(Emit emit) {
    Block out(output_);
    ends_.GiveTo(out);
    emit(std::move(out));
  }

  void Reset() {
    batch_.reset();
    provenance_.clear();
    rows_ = 0;
  }

  SchemaPtr rows_schema_;  // of the rows in the batch
  SchemaPtr output_;
  std::shared_ptr<FrameMemory> memory_;
  size_t size_;
  bool drop_remainder_;
  std::shared_ptr<const PixelScaling> scaling_;
  Shape image_shape_;  // of the batch's images before they are scaled
  std::vector<ColumnBuilder> columns_;
  std::optional<Block> batch_;  // the open batch: its memory, no row yet
  Provenance provenance_;       // of the rows in it
  Provenance first_;            // of the row that set its shapes
  size_t rows_ = 0;             // in it
  Ends ends_;
  std::vector<uint32_t> chosen_;  // kept for their memory
  std::vector<Cell> cells_;
};

}  // namespace

absl::Status CheckBatchSize(int64_t size) {
  if (size >= 1 && size <= kMaxSize) return absl::OkStatus();
  return InvalidArgument("size: expected 1 to {}, got {}", kMaxSize, size);
}

absl::StatusOr<Schema> BatchSchema(const Schema& rows, const BatchParams& params) {
  Schema out = rows;
  for (size_t i = 0; i < out.size(); ++i) {
    const Field& field = rows[i];
    if (field.shape.has_rank() && field.shape.rank() >= Shape::kMaxRank) {
      return InvalidArgument(
          "field '{}' {} has {} dimensions already; batch adds one and at most {} are possible",
          field.name, field.shape.ToString(), field.shape.rank(), Shape::kMaxRank);
    }
    out[i].shape = field.shape.WithFront(params.drop_remainder ? params.size : Shape::kDynamic);
  }
  return out;
}

std::unique_ptr<OpState> NewBatchState(SchemaPtr rows, SchemaPtr output, const BatchParams& params,
                                       std::shared_ptr<FrameMemory> memory,
                                       std::shared_ptr<const PixelScaling> scaling) {
  return std::make_unique<BatchState>(std::move(rows), std::move(output), params, std::move(memory),
                                      std::move(scaling));
}

}  // namespace headrace
