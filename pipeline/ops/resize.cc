// resize: an image to another size, antialiased (what Pillow's Image.resize gives, within one
// level).
#include <cmath>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/imaging/decode.h"
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
      HR_ASSIGN_OR_RETURN(const ImageSize to, SizeFor(cell.shape[0], cell.shape[1]));
      if (to.height == cell.shape[0] && to.width == cell.shape[1]) return absl::OkStatus();
      ResampleCell(cell, image_.dtype, BoxOf(Region{0, 0, cell.shape[1], cell.shape[0]}), method_,
                   to, block.arena());
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  // With one number: the shorter side becomes that, the longer one in proportion, cut to an integer
  // as in torchvision.
  absl::StatusOr<ImageSize> SizeFor(int64_t height, int64_t width) const {
    if (params_.size.size() == 2) return size_;
    const int64_t side = size_.height;
    const double longer = static_cast<double>(side) * static_cast<double>(std::max(height, width)) /
                          static_cast<double>(std::min(height, width));
    if (longer * static_cast<double>(side) > static_cast<double>(kDefaultMaxPixels)) {
      return OutOfRange(
          "image of {} x {} (height x width) with its shorter side at {} has more than {} pixels",
          height, width, side, kDefaultMaxPixels);
    }
    const auto length = static_cast<int64_t>(longer);
    return height <= width ? ImageSize{side, length} : ImageSize{length, side};
  }

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
