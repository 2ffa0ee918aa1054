// pad_to: tensors filled up to a shape.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/tensor_box.h"

namespace headrace {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;  // of one row's result

struct PadToParams {
  std::string field;
  std::vector<int64_t> shape;
  double value = 0;
  std::string align = "start";
};

class PadTo final : public StatelessOp {
 public:
  PadTo(PadToParams params, Shape target, Alignment align)
      : params_(std::move(params)), target_(target), align_(align) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(params_.field));
    const Field& field = input[at_];
    if (field.dtype == DType::kBytes) {
      return InvalidArgument("field '{}' is bytes; pad_to takes numbers", params_.field);
    }
    if (field.shape.has_rank() && field.shape.rank() != target_.rank()) {
      return InvalidArgument("field '{}' is {}; shape has {} lengths", params_.field,
                             field.shape.ToString(), target_.rank());
    }
    item_bytes_ = ItemSize(field.dtype);
    const absl::StatusOr<PadItem> pad = MakePadItem(params_.value, field.dtype);
    if (!pad.ok())
      return InvalidArgument("value: {} does not fit {}", params_.value, Name(field.dtype));
    pad_ = *pad;
    Schema out = input;
    Shape& shape = out[at_].shape;
    if (!shape.has_rank()) {
      shape = target_;
      return out;
    }
    for (size_t d = 0; d < target_.rank(); ++d) {
      if (target_[d] == Shape::kDynamic) continue;
      if (shape[d] > target_[d]) return TooLong(shape);
      shape[d] = target_[d];
    }
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      if (absl::Status s = Pad(cells[row], block.arena()); !s.ok()) block.Fail(row, std::move(s));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status TooLong(const Shape& shape) const {
    return InvalidArgument("field '{}' is {}, which is longer than {}; cut it first with crop_to",
                           params_.field, shape.ToString(), target_.ToString());
  }

  absl::Status Pad(Cell& cell, Arena& arena) const {
    const Shape from = cell.shape;
    if (from.rank() != target_.rank()) {
      return InvalidArgument("field '{}' is {}; shape has {} lengths", params_.field,
                             from.ToString(), target_.rank());
    }
    Shape to = from, place = from, start = from;
    auto bytes = static_cast<int64_t>(item_bytes_);
    for (size_t d = 0; d < from.rank(); ++d) {
      if (target_[d] != Shape::kDynamic) to[d] = target_[d];
      if (from[d] > to[d]) return TooLong(from);
      place[d] = OffsetOf(align_, to[d] - from[d], 0);
      start[d] = 0;
      if (__builtin_mul_overflow(bytes, to[d], &bytes) || bytes > kMaxBytes) {
        return OutOfRange("field '{}' padded to {} is over the limit of {} bytes", params_.field,
                          target_.ToString(), kMaxBytes);
      }
    }
    if (to == from) return absl::OkStatus();
    std::byte* out = arena.AllocatePacked(static_cast<size_t>(bytes), item_bytes_);
    FillItems(out, static_cast<size_t>(bytes) / item_bytes_, item_bytes_, pad_);
    CopyBox(cell.data, from, start, out, to, place, from, item_bytes_);
    cell = {out, static_cast<size_t>(bytes), to};
    return absl::OkStatus();
  }

  PadToParams params_;
  Shape target_;
  Alignment align_;
  PadItem pad_{};
  size_t item_bytes_ = 0;
  size_t at_ = 0;
};

}  // namespace

void Register_pad_to(OpRegistry& registry) {
  ParamSet<PadToParams> params;
  params.Required("field", &PadToParams::field, "numbers of any type")
      .Required("shape", &PadToParams::shape,
                "length of each dimension, -1 for as it is; longer rows fail")
      .Optional("value", &PadToParams::value, "what is filled up with")
      .Optional("align", &PadToParams::align, "where the row lies in it: start, center or end");
  registry.Add<PadToParams>("pad_to", "Fill each row up to a shape.", std::move(params),
                            [](PadToParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                              HR_ASSIGN_OR_RETURN(const Shape target, ParseTargetShape(p.shape));
                              HR_ASSIGN_OR_RETURN(const Alignment align,
                                                  ParseAlignment(p.align, false));
                              return std::make_unique<PadTo>(std::move(p), target, align);
                            });
}

}  // namespace headrace
