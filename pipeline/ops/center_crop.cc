// center_crop: the middle of an image.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_crop.h"

namespace headrace {
namespace {

struct CenterCropParams {
  std::string field;
  std::vector<int64_t> size;
};

class CenterCrop final : public StatelessOp {
 public:
  CenterCrop(CenterCropParams params, ImageSize size) : params_(std::move(params)), size_(size) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.fields = {params_.field};
    traits.work = FieldWork::kPlaces;
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "center_crop"));
    Schema out = input;
    out[image_.at].shape = {size_.height, size_.width, image_.channels};
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    ForEachImage(block, image_, [&](size_t, Cell& cell) -> absl::Status {
      HR_ASSIGN_OR_RETURN(const Region region, CenterRegion(cell.shape[0], cell.shape[1], size_));
      CropCell(cell, image_.dtype, region, block.arena());
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  CenterCropParams params_;
  ImageSize size_;
  ImageField image_;
};

}  // namespace

void Register_center_crop(OpRegistry& registry) {
  ParamSet<CenterCropParams> params;
  params
      .Required("field", &CenterCropParams::field,
                "image, uint8 or float32 [height, width, channels]")
      .Required("size", &CenterCropParams::size, "[height, width]; a single number is both");
  registry.Add<CenterCropParams>(
      "center_crop", "Cut the middle out of an image.", std::move(params),
      [](CenterCropParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
        HR_ASSIGN_OR_RETURN(const ImageSize size, ParseImageSize(p.size));
        return std::make_unique<CenterCrop>(std::move(p), size);
      });
}

}  // namespace headrace
