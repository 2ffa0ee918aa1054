// padded_batch: `size` rows of unlike shapes become one, each dimension as long as the longest row
// of the batch.
#include <algorithm>
#include <optional>
#include <utility>

#include "common/status.h"
#include "element/numeric.h"
#include "pipeline/collate/ends.h"
#include "pipeline/collate/padded_column.h"
#include "pipeline/graph/op_registry.h"

namespace headrace {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 30;

struct PaddedBatchParams {
  int64_t size = 0;
  bool drop_remainder = false;
  double pad_value = 0;
  StringMap pad_to;
  std::string lengths;
};

// What Bind found out; shared by all states.
struct Plan {
  SchemaPtr input;
  SchemaPtr output;
  std::vector<Shape> pad_to;      // per field; unknown rank: to the longest
  std::vector<PadItem> pad;       // per field
  std::vector<size_t> length_of;  // fields whose length is put out, in order, behind the others
  size_t size = 0;
  bool drop_remainder = false;
};

class PaddedBatchState final : public OpState {
 public:
  PaddedBatchState(std::shared_ptr<const Plan> plan, std::shared_ptr<FrameMemory> memory)
      : plan_(std::move(plan)), memory_(std::move(memory)) {
    Reset();
  }

  absl::Status Push(Block block, Emit emit) override {
    for (size_t row = 0; row < block.rows(); ++row) {
      if (absl::Status status = Check(block, row); !status.ok()) block.Fail(row, std::move(status));
    }
    block.Compact();
    ends_.TakeFrom(block);
    while (block.rows() > 0) {
      const size_t room = plan_->size - held_->rows();
      if (block.rows() > room) {
        Hold(block.TakeFront(room));
      } else {
        Hold(std::exchange(block, Block(plan_->input)));
      }
      if (held_->rows() == plan_->size) HR_RETURN_IF_ERROR(EmitBatch(emit));
    }
    if (!ends_.empty()) EmitEnds(emit);
    return absl::OkStatus();
  }

  absl::Status Finish(Emit emit) override {
    if (held_->rows() > 0 && !plan_->drop_remainder) {
      HR_RETURN_IF_ERROR(EmitBatch(emit));
    } else if (held_->rows() > 0) {
      for (size_t row = 0; row < held_->rows(); ++row) ends_.Settle(held_->provenance(row));
      EmitEnds(emit);
    }
    Reset();
    ranks_.clear();
    return absl::OkStatus();
  }

  size_t held_bytes() const override { return held_->rows() == 0 ? 0 : held_->bytes(); }

 private:
  // Whether the row can stand in a batch: no longer than pad_to, and of the rank of all rows so
  // far.
  absl::Status Check(const Block& block, size_t row) {
    const Schema& schema = *plan_->input;
    if (ranks_.empty()) {
      for (size_t f = 0; f < schema.size(); ++f)
        ranks_.push_back(block.column(f)[row].shape.rank());
    }
    for (size_t f = 0; f < schema.size(); ++f) {
      const Shape& shape = block.column(f)[row].shape;
      const Shape& most = plan_->pad_to[f];
      const size_t rank = most.has_rank() ? most.rank() : ranks_[f];
      if (shape.rank() != rank || rank >= Shape::kMaxRank) {
        return InvalidArgument(
            "padded_batch: {} has {} {}; rows of {} dimensions were expected, at most {}",
            RecordName(block.provenance(row)), schema[f].name, shape.ToString(), rank,
            Shape::kMaxRank - 1);
      }
      for (size_t d = 0; d < shape.rank() && most.has_rank(); ++d) {
        if (most[d] == Shape::kDynamic || shape[d] <= most[d]) continue;
        return InvalidArgument("padded_batch: {} has {} {}, which is longer than pad_to {}",
                               RecordName(block.provenance(row)), schema[f].name, shape.ToString(),
                               most.ToString());
      }
    }
    return absl::OkStatus();
  }

  // Rows wait for the batch where they lie, unless that keeps much else alive: then they are
  // copied.
  void Hold(Block rows) {
    constexpr size_t kSlack = 64 << 10;
    if (rows.bytes() <= 2 * rows.live_bytes() + kSlack) return held_->Append(std::move(rows));
    std::vector<Cell> cells(plan_->input->size());
    for (size_t row = 0; row < rows.rows(); ++row) {
      for (size_t f = 0; f < cells.size(); ++f) {
        const Cell& from = rows.column(f)[row];
        std::byte* copy = held_->arena().AllocatePacked(from.bytes, alignof(std::max_align_t));
        if (from.bytes > 0) std::memcpy(copy, from.data, from.bytes);
        cells[f] = {copy, from.bytes, from.shape};
      }
      held_->AppendRow(std::move(rows.provenance(row)), cells);
    }
  }

  absl::Status EmitBatch(Emit emit) {
    Block out(plan_->output, memory_);
    std::vector<Cell> cells;
    for (size_t f = 0; f < plan_->input->size(); ++f) {
      const std::vector<Cell>& rows = held_->column(f);
      const Shape shape = CommonShape(rows, plan_->pad_to[f]);
      HR_ASSIGN_OR_RETURN(cells.emplace_back(), PadColumn((*plan_->input)[f], rows, shape,
                                                          plan_->pad[f], out.arena(), padding_));
    }
    for (size_t f : plan_->length_of) {
      std::vector<int64_t> lengths;
      for (const Cell& row : held_->column(f)) lengths.push_back(row.shape[0]);
      const Shape shape{static_cast<int64_t>(lengths.size())};
      cells.push_back(MakeCell<int64_t>(out.arena(), lengths, shape));
    }
    Provenance provenance;
    for (size_t row = 0; row < held_->rows(); ++row) {
      for (const Run& run : held_->provenance(row)) AppendRun(provenance, run);
    }
    out.AppendRow(std::move(provenance), cells);
    ends_.GiveTo(out);
    Reset();
    emit(std::move(out));
    return absl::OkStatus();
  }

  void EmitEnds(Emit emit) {
    Block out(plan_->output);
    ends_.GiveTo(out);
    emit(std::move(out));
  }
  void Reset() { held_.emplace(plan_->input); }

  std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<FrameMemory> memory_;
  std::optional<Block> held_;  // rows of the open batch
  std::vector<size_t> ranks_;  // per field, of the first row
  Ends ends_;
  PaddingCount padding_;  // over the task
};

// "512", "[?, 80]"
absl::StatusOr<Shape> ParseDims(std::string_view text) {
  std::vector<int64_t> dims;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    while (word.starts_with(' ')) word.remove_prefix(1);
    int64_t dim = Shape::kDynamic;
    if (word != "?" && (!ParseDecimal(word, dim) || dim < 1)) {
      return InvalidArgument("'{}' is no length; write one per dimension, like 512 or [?, 80]",
                             word);
    }
    dims.push_back(dim);
  }
  if (dims.size() >= Shape::kMaxRank) {
    return InvalidArgument("{} dimensions; at most {}", dims.size(), Shape::kMaxRank - 1);
  }
  return Shape(std::span<const int64_t>(dims));
}

class PaddedBatch final : public StatefulOp {
 public:
  PaddedBatch(PaddedBatchParams params, std::vector<std::pair<std::string, Shape>> pad_to)
      : params_(std::move(params)), pad_to_(std::move(pad_to)) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    auto plan = std::make_shared<Plan>();
    plan->size = static_cast<size_t>(params_.size);
    plan->drop_remainder = params_.drop_remainder;
    plan->pad_to.assign(input.size(), Shape::Unknown());
    plan->pad.assign(input.size(), {});
    for (const auto& [name, shape] : pad_to_) {
      HR_ASSIGN_OR_RETURN(const size_t f, input.Require(name));
      HR_RETURN_IF_ERROR(CheckPadTo(input[f], shape));
      plan->pad_to[f] = shape;
    }
    Schema out;
    for (size_t f = 0; f < input.size(); ++f) {
      HR_ASSIGN_OR_RETURN(Field field, BindField(input[f], plan->pad_to[f], plan->pad[f]));
      out.Add(std::move(field));
    }
    if (!params_.lengths.empty()) HR_RETURN_IF_ERROR(BindLengths(input, *plan, out));
    plan->input = std::make_shared<const Schema>(input);
    plan->output = std::make_shared<const Schema>(out);
    plan_ = std::move(plan);
    return out;
  }
  OpTraits traits() const override { return {.one_to_one = false, .emits_batches = true}; }
  std::unique_ptr<OpState> NewState(const StepContext& context) const override {
    return std::make_unique<PaddedBatchState>(plan_, context.memory);
  }

 private:
  int64_t FrontDim() const { return params_.drop_remainder ? params_.size : Shape::kDynamic; }

  static absl::Status CheckPadTo(const Field& field, const Shape& to) {
    const Shape& from = field.shape;
    if (!from.has_rank()) return absl::OkStatus();
    bool fits = from.rank() == to.rank();
    for (size_t d = 0; fits && d < to.rank(); ++d)
      fits = to[d] == Shape::kDynamic || from[d] <= to[d];
    if (fits) return absl::OkStatus();
    return InvalidArgument("pad_to {} does not hold field '{}', which is {}", to.ToString(),
                           field.name, from.ToString());
  }

  absl::StatusOr<Field> BindField(const Field& field, const Shape& pad_to, PadItem& pad) const {
    const Shape& from = field.shape;
    if (from.has_rank() && from.rank() >= Shape::kMaxRank) {
      return InvalidArgument(
          "field '{}' {} has {} dimensions already; padded_batch adds one and at most {} are "
          "possible",
          field.name, from.ToString(), from.rank(), Shape::kMaxRank);
    }
    Shape shape = from.has_rank() ? from : pad_to;
    for (size_t d = 0; d < shape.rank() && pad_to.has_rank(); ++d) {
      if (pad_to[d] != Shape::kDynamic) shape[d] = pad_to[d];
    }
    if (!from.is_static() || shape != from) {  // may need padding
      absl::StatusOr<PadItem> item = MakePadItem(params_.pad_value, field.dtype);
      if (!item.ok()) return Annotate(item.status(), fmt::format("field '{}'", field.name));
      pad = *item;
    }
    return Field{field.name, field.dtype, shape.WithFront(FrontDim())};
  }

  absl::Status BindLengths(const Schema& input, Plan& plan, Schema& out) const {
    for (size_t f = 0; f < input.size(); ++f) {
      const Field& field = input[f];
      if (field.shape.rank() == 0 || field.shape[0] != Shape::kDynamic) continue;
      const std::string name = field.name + params_.lengths;
      if (out.Find(name) != Schema::kNone)
        return InvalidArgument("lengths: there is a field '{}' already", name);
      plan.length_of.push_back(f);
      out.Add({name, DType::kInt64, Shape{FrontDim()}});
    }
    if (!plan.length_of.empty()) return absl::OkStatus();
    return InvalidArgument("lengths: no field of {} differs in length from row to row",
                           input.ToString());
  }

  PaddedBatchParams params_;
  std::vector<std::pair<std::string, Shape>> pad_to_;
  std::shared_ptr<const Plan> plan_;
};

absl::StatusOr<std::unique_ptr<Op>> Make(PaddedBatchParams params) {
  if (params.size < 1 || params.size > kMaxSize) {
    return InvalidArgument("size: expected 1 to {}, got {}", kMaxSize, params.size);
  }
  std::vector<std::pair<std::string, Shape>> pad_to;
  for (const auto& [name, text] : params.pad_to) {
    absl::StatusOr<Shape> shape = ParseDims(text);
    if (!shape.ok()) return Annotate(shape.status(), fmt::format("pad_to: {}", name));
    pad_to.emplace_back(name, *shape);
  }
  return std::make_unique<PaddedBatch>(std::move(params), std::move(pad_to));
}

}  // namespace

void Register_padded_batch(OpRegistry& registry) {
  ParamSet<PaddedBatchParams> params;
  params.Required("size", &PaddedBatchParams::size, "rows in a batch, 1 or more")
      .Optional("drop_remainder", &PaddedBatchParams::drop_remainder,
                "leave out the last rows when they do not fill a batch; the first dimension is "
                "then static")
      .Optional("pad_value", &PaddedBatchParams::pad_value,
                "what numbers are filled up with; text is filled up with empty strings")
      .Optional("pad_to", &PaddedBatchParams::pad_to,
                "map of field to its length, like 512 or [?, 80]; ?, and fields not named: the "
                "longest row of the batch")
      .Optional("lengths", &PaddedBatchParams::lengths,
                "suffix of new int64 fields with each row's length before padding, like _length; "
                "default: none");
  registry
      .Add<PaddedBatchParams>("padded_batch",
                              "SIZE rows of unlike shapes become one, shorter ones filled up.",
                              std::move(params), Make)
      .bare_param = "size";
}

}  // namespace headrace
