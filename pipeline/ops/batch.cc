// batch: `size` rows become one, every field with a new dimension in front. Rows are copied once,
// straight into the memory that the batch leaves in.
#include <algorithm>
#include <optional>
#include <utility>

#include "common/status.h"
#include "pipeline/collate/column_builder.h"
#include "pipeline/collate/ends.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

// Enough for any use; keeps sums of sizes far from overflow.
constexpr int64_t kMaxSize = int64_t{1} << 30;

struct BatchParams {
  int64_t size = 0;
  bool drop_remainder = false;
};

class BatchState final : public OpState {
 public:
  BatchState(SchemaPtr input, SchemaPtr output, const BatchParams& params)
      : input_(std::move(input)),
        output_(std::move(output)),
        size_(static_cast<size_t>(params.size)),
        drop_remainder_(params.drop_remainder) {
    for (const Field& field : input_->fields()) columns_.emplace_back(field, size_);
  }

  absl::Status Push(Block block, Emit emit) override {
    ends_.TakeFrom(block);
    for (size_t row = 0; row < block.rows();) {
      if (!batch_) HR_RETURN_IF_ERROR(Start(block, row));
      row = Choose(block, row);
      for (size_t f = 0; f < columns_.size(); ++f) columns_[f].Append(block.column(f), chosen_);
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
    batch_.emplace(output_);
    for (size_t f = 0; f < columns_.size(); ++f) {
      const Shape& shape = block.column(f)[row].shape;
      if (shape.rank() >= Shape::kMaxRank) {
        return InvalidArgument(
            "batch: field '{}' of {} has {} dimensions; there is no room for one more",
            (*input_)[f].name, RecordName(block.provenance(row)), shape.rank());
      }
      HR_RETURN_IF_ERROR(columns_[f].Start(shape, batch_->arena()));
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
    while (f < columns_.size() && columns_[f].Fits(block.column(f)[row])) ++f;
    return f;
  }

  absl::Status WrongShape(const Block& block, size_t row, size_t f) const {
    return InvalidArgument(
        "batch: {} has {} {} where the batch, begun by {}, has {}; use padded_batch or make them "
        "equal",
        RecordName(block.provenance(row)), (*input_)[f].name, block.column(f)[row].shape.ToString(),
        RecordName(first_), columns_[f].shape().ToString());
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

  SchemaPtr input_;
  SchemaPtr output_;
  size_t size_;
  bool drop_remainder_;
  std::vector<ColumnBuilder> columns_;
  std::optional<Block> batch_;  // the open batch: its memory, no row yet
  Provenance provenance_;       // of the rows in it
  Provenance first_;            // of the row that set its shapes
  size_t rows_ = 0;             // in it
  Ends ends_;
  std::vector<uint32_t> chosen_;  // kept for their memory
  std::vector<Cell> cells_;
};

class Batch final : public StatefulOp {
 public:
  explicit Batch(BatchParams params) : params_(params) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    Schema out = input;
    for (size_t i = 0; i < out.size(); ++i) {
      const Field& field = input[i];
      if (field.shape.has_rank() && field.shape.rank() >= Shape::kMaxRank) {
        return InvalidArgument(
            "field '{}' {} has {} dimensions already; batch adds one and at most {} are possible",
            field.name, field.shape.ToString(), field.shape.rank(), Shape::kMaxRank);
      }
      out[i].shape = field.shape.WithFront(params_.drop_remainder ? params_.size : Shape::kDynamic);
    }
    input_ = std::make_shared<const Schema>(input);
    output_ = std::make_shared<const Schema>(out);
    return out;
  }
  OpTraits traits() const override { return {.one_to_one = false, .emits_batches = true}; }
  std::unique_ptr<OpState> NewState(const StepContext&) const override {
    return std::make_unique<BatchState>(input_, output_, params_);
  }

 private:
  BatchParams params_;
  SchemaPtr input_;
  SchemaPtr output_;
};

}  // namespace

void Register_batch(OpRegistry& registry) {
  ParamSet<BatchParams> params;
  params.Required("size", &BatchParams::size, "rows in a batch, 1 or more")
      .Optional("drop_remainder", &BatchParams::drop_remainder,
                "leave out the last rows when they do not fill a batch; the first dimension is "
                "then static");
  registry
      .Add<BatchParams>(
          "batch", "SIZE rows of equal shapes become one, with a new first dimension.",
          std::move(params),
          [](BatchParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
            if (p.size < 1 || p.size > kMaxSize) {
              return InvalidArgument("size: expected 1 to {}, got {}", kMaxSize, p.size);
            }
            return std::make_unique<Batch>(p);
          })
      .bare_param = "size";
}

}  // namespace headrace
