// resize: an image to another size, antialiased (what Pillow's Image.resize gives, within one
// level).
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_field.h"

namespace headrace {
namespace {

struct ResizeParams {
  std::string field;
  std::vector<int64_t> size;
  std::string method = "bilinear";
};

class Resize final : public StatelessOp {
 public:
  Resize(ResizeParams params, ImageSize size, ResampleMethod method)
      : params_(std::move(params)), size_(size), method_(method) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "resize"));
    Schema out = input;
    if (params_.size.size() == 2) {
      out[image_.at].shape = {size_.height, size_.width, image_.channels};
    } else {
      out[image_.at].shape = {Shape::kDynamic, Shape::kDynamic, image_.channels};
    }
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    ForEachImage(block, image_, [&](size_t, Cell& cell) -> absl::Status {
      HR_ASSIGN_OR_RETURN(const ImageSize to,
                          ResizedTo(params_.size, cell.shape[0], cell.shape[1]));
      if (to.height == cell.shape[0] && to.width == cell.shape[1]) return absl::OkStatus();
      ResampleCell(cell, image_.dtype, BoxOf(Region{0, 0, cell.shape[1], cell.shape[0]}), method_,
                   to, block.arena());
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  ResizeParams params_;
  ImageSize size_;
  ResampleMethod method_;
  ImageField image_;
};

}  // namespace

void Register_resize(OpRegistry& registry) {
  ParamSet<ResizeParams> params;
  params
      .Required("field", &ResizeParams::field, "image, uint8 or float32 [height, width, channels]")
      .Required(
          "size", &ResizeParams::size,
          "[height, width]; a single number is the length of the shorter side, the ratio is kept")
      .Optional("method", &ResizeParams::method, "bilinear or bicubic, both antialiased");
  registry.Add<ResizeParams>("resize", "Resize an image, antialiased.", std::move(params),
                             [](ResizeParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                               HR_ASSIGN_OR_RETURN(const ImageSize size, ParseImageSize(p.size));
                               HR_ASSIGN_OR_RETURN(const ResampleMethod method,
                                                   ParseResampleMethod(p.method));
                               return std::make_unique<Resize>(std::move(p), size, method);
                             });
}

}  // namespace headrace
