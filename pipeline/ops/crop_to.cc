// crop_to: tensors cut down to a shape.
#include <algorithm>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_field.h"
#include "pipeline/ops/tensor_box.h"

namespace headrace {
namespace {

struct CropToParams {
  std::string field;
  std::vector<int64_t> shape;
  std::string align = "start";
  std::optional<int64_t> seed;
};

class CropTo final : public StatelessOp {
 public:
  CropTo(CropToParams params, Shape target, Alignment align)
      : params_(std::move(params)), target_(target), align_(align) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = align_ == Alignment::kRandom;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, input.Require(params_.field));
    const Field& field = input[at_];
    if (field.dtype == DType::kBytes) {
      return InvalidArgument("field '{}' is bytes; crop_to takes numbers", params_.field);
    }
    if (field.shape.has_rank() && field.shape.rank() != target_.rank())
      return WrongRank(field.shape);
    item_bytes_ = ItemSize(field.dtype);
    Schema out = input;
    Shape& shape = out[at_].shape;
    if (!shape.has_rank()) return out;
    for (size_t d = 0; d < target_.rank(); ++d) {
      // Of a length that is not known, only that it is no longer than the target afterwards.
      if (target_[d] != Shape::kDynamic && shape[d] != Shape::kDynamic)
        shape[d] = std::min(shape[d], target_[d]);
    }
    return out;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    std::vector<Cell>& cells = block.column(at_);
    for (size_t row = 0; row < cells.size(); ++row) {
      if (cells[row].shape.rank() != target_.rank()) {
        block.Fail(row, WrongRank(cells[row].shape));
        continue;
      }
      RandomStream random(key, block.provenance(row).front());
      Crop(cells[row], random, block.arena());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status WrongRank(const Shape& shape) const {
    return InvalidArgument("field '{}' is {}; shape has {} lengths", params_.field,
                           shape.ToString(), target_.rank());
  }

  void Crop(Cell& cell, RandomStream& random, Arena& arena) const {
    const Shape from = cell.shape;
    Shape to = from, place = from, start = from;
    for (size_t d = 0; d < from.rank(); ++d) {
      if (target_[d] != Shape::kDynamic) to[d] = std::min(from[d], target_[d]);
      const int64_t slack = from[d] - to[d];
      const auto draw = static_cast<int64_t>(random.Below(static_cast<uint64_t>(slack) + 1));
      start[d] = OffsetOf(align_, slack, draw);
      place[d] = 0;
    }
    if (to == from) return;
    const size_t bytes = static_cast<size_t>(to.items()) * item_bytes_;
    std::byte* out = arena.AllocatePacked(bytes, item_bytes_);
    CopyBox(cell.data, from, start, out, to, place, to, item_bytes_);
    cell = {out, bytes, to};
  }

  CropToParams params_;
  Shape target_;
  Alignment align_;
  size_t item_bytes_ = 0;
  size_t at_ = 0;
};

}  // namespace

void Register_crop_to(OpRegistry& registry) {
  ParamSet<CropToParams> params;
  params.Required("field", &CropToParams::field, "numbers of any type")
      .Required("shape", &CropToParams::shape,
                "most that each dimension keeps, -1 for all of it; shorter rows stay as they are")
      .Optional("align", &CropToParams::align,
                "which part is kept: start, center, end or random, drawn for each row")
      .Optional("seed", &CropToParams::seed, "of this step; default: the pipeline's");
  registry.Add<CropToParams>("crop_to", "Cut each row down to a shape.", std::move(params),
                             [](CropToParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                               HR_ASSIGN_OR_RETURN(const Shape target, ParseTargetShape(p.shape));
                               HR_ASSIGN_OR_RETURN(const Alignment align,
                                                   ParseAlignment(p.align, true));
                               return std::make_unique<CropTo>(std::move(p), target, align);
                             });
}

}  // namespace headrace
