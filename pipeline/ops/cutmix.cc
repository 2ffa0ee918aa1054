// cutmix: a rectangle of each image of a batch is taken from the image before it, and the labels
// are mixed by its area (Yun et al., "CutMix", 2019): torchvision's CutMix.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/batch_mix.h"
#include "pipeline/ops/class_numbers.h"
#include "pipeline/ops/image_field.h"

namespace headrace {
namespace {

constexpr std::string_view kName = "cutmix";

struct CutmixParams {
  std::string field;
  std::string label;
  std::optional<int64_t> num_classes;
  double alpha = 1.0;
  double probability = 1.0;
  std::string layout = "hwc";
  std::optional<int64_t> seed;
};

// torchvision's CutMix.make_params: a rectangle of 1 - share of the area around a random place, cut
// at the edges.
Region DrawCut(int64_t height, int64_t width, double share, RandomStream& random) {
  const auto x = static_cast<int64_t>(random.Below(static_cast<uint64_t>(width)));
  const auto y = static_cast<int64_t>(random.Below(static_cast<uint64_t>(height)));
  const double half = 0.5 * std::sqrt(1.0 - share);
  const auto across = static_cast<int64_t>(half * static_cast<double>(width));
  const auto down = static_cast<int64_t>(half * static_cast<double>(height));
  const int64_t left = std::max<int64_t>(x - across, 0), top = std::max<int64_t>(y - down, 0);
  return {left, top, std::min(x + across, width) - left, std::min(y + down, height) - top};
}

class Cutmix final : public StatelessOp {
 public:
  explicit Cutmix(CutmixParams params)
      : params_(std::move(params)),
        labels_(params_.label, params_.num_classes),
        chw_(params_.layout == "chw") {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = true;
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(at_, RequireBatch(input, params_.field, 4, kName));
    const Field& field = input[at_];
    if (field.shape.rank() != 4) {
      return InvalidArgument("field '{}' is {} {}; {} takes a batch of images, of 4 dimensions",
                             params_.field, Name(field.dtype), field.shape.ToString(), kName);
    }
    item_bytes_ = ItemSize(field.dtype);
    Schema out = input;
    HR_RETURN_IF_ERROR(labels_.Bind(input, kName, out));
    return out;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    for (size_t row = 0; row < block.rows(); ++row) {
      RandomStream random = BatchStream(key, block.provenance(row));
      absl::Status status =
          CutBatch(block.column(at_)[row], block.column(labels_.at())[row], random, block.arena());
      if (!status.ok()) block.Fail(row, std::move(status));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CutBatch(Cell& images, Cell& labels, RandomStream& random, Arena& arena) const {
    const Shape& shape = images.shape;
    if (labels.shape[0] != shape[0]) {
      return InvalidArgument("field '{}' has {} rows, field '{}' has {}", params_.field, shape[0],
                             params_.label, labels.shape[0]);
    }
    const int64_t height = shape[chw_ ? 2 : 1], width = shape[chw_ ? 3 : 2];
    const bool mixed = random.Uniform() < params_.probability;
    const double share = DrawBeta(params_.alpha, random);
    if (!mixed || shape.items() == 0) return labels_.Mix(labels, 1.0, arena);
    const Region cut = DrawCut(height, width, share, random);
    const double rest =
        static_cast<double>(cut.width * cut.height) / static_cast<double>(width * height);
    HR_RETURN_IF_ERROR(labels_.Mix(labels, 1.0 - rest, arena));
    PasteFromRowBefore(images, item_bytes_, chw_, cut, arena);
    return absl::OkStatus();
  }

  CutmixParams params_;
  BatchLabels labels_;
  bool chw_;
  size_t item_bytes_ = 0;
  size_t at_ = 0;
};

}  // namespace

void Register_cutmix(OpRegistry& registry) {
  ParamSet<CutmixParams> params;
  params.Required("field", &CutmixParams::field,
                  "images of any numeric type [rows, height, width, channels], behind batch");
  DeclareMixing(params);
  params
      .Optional("layout", &CutmixParams::layout,
                "of an image: hwc, or chw: [channels, height, width]")
      .Optional("seed", &CutmixParams::seed, "of this step; default: the pipeline's");
  registry.Add<CutmixParams>(
      "cutmix",
      "Put a rectangle of the image before into each image of a batch, labels by area, as "
      "torchvision does.",
      std::move(params), [](CutmixParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
        HR_RETURN_IF_ERROR(CheckMixing(p));
        if (p.layout != "hwc" && p.layout != "chw")
          return InvalidArgument("layout: expected 'hwc' or 'chw', got '{}'", p.layout);
        return std::make_unique<Cutmix>(std::move(p));
      });
}

}  // namespace headrace
