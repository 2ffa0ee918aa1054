// random_resized_crop: a part of random area, shape and place, resized to a fixed size in one go:
// how ImageNet models train.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_crop.h"
#include "pipeline/ops/image_params.h"

namespace headrace {
namespace {

struct RandomResizedCropParams {
  std::string field;
  std::vector<int64_t> size;
  std::vector<double> scale = {0.08, 1.0};
  std::vector<double> ratio = {0.75, 4.0 / 3.0};
  std::string method = "bilinear";
  std::optional<int64_t> seed;
};

class RandomResizedCrop final : public StatelessOp {
 public:
  RandomResizedCrop(RandomResizedCropParams params, ImageSize size, ResizedCropRule rule,
                    ResampleMethod method)
      : params_(std::move(params)), size_(size), rule_(rule), method_(method) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.random = true;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "random_resized_crop"));
    Schema out = input;
    out[image_.at].shape = {size_.height, size_.width, image_.channels};
    return out;
  }

  absl::Status Run(Block& block, const StepContext& context) const override {
    const RandomKey key = WithSeed(context.random, params_.seed);
    ForEachImage(block, image_, [&](size_t row, Cell& cell) {
      RandomStream random(key, block.provenance(row).front());
      const Region region = rule_.Draw(cell.shape[0], cell.shape[1], random);
      ResampleCell(cell, image_.dtype, BoxOf(region), method_, size_, block.arena());
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  RandomResizedCropParams params_;
  ImageSize size_;
  ResizedCropRule rule_;
  ResampleMethod method_;
  ImageField image_;
};

}  // namespace

void Register_random_resized_crop(OpRegistry& registry) {
  ParamSet<RandomResizedCropParams> params;
  DeclareImage(params);
  DeclareCropSize(params);
  DeclareResizedCrop(params);
  DeclareSeed(params);
  registry.Add<RandomResizedCropParams>(
      "random_resized_crop",
      "Cut a part of random area, shape and place and resize it, as torchvision does.",
      std::move(params), [](RandomResizedCropParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
        HR_ASSIGN_OR_RETURN(const ImageSize size, ParseImageSize(p.size));
        HR_ASSIGN_OR_RETURN(const ResizedCropRule rule, ParseResizedCropRule(p.scale, p.ratio));
        HR_ASSIGN_OR_RETURN(const ResampleMethod method, ParseResampleMethod(p.method));
        return std::make_unique<RandomResizedCrop>(std::move(p), size, rule, method);
      });
}

}  // namespace headrace
