// grayscale: colour images to grey.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_grey.h"

namespace headrace {
namespace {

struct GrayscaleParams {
  std::string field;
  int64_t channels = 1;
};

class Grayscale final : public StatelessOp {
 public:
  explicit Grayscale(GrayscaleParams params) : params_(std::move(params)) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.fields = {params_.field};
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "grayscale"));
    Schema out = input;
    out[image_.at].shape[2] = params_.channels;
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    ForEachImage(block, image_, [&](size_t, Cell& cell) {
      GreyCell(cell, image_.dtype, params_.channels, block.arena());
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  GrayscaleParams params_;
  ImageField image_;
};

}  // namespace

void Register_grayscale(OpRegistry& registry) {
  ParamSet<GrayscaleParams> params;
  params
      .Required("field", &GrayscaleParams::field,
                "image, uint8 or float32 [height, width, channels]")
      .Optional("channels", &GrayscaleParams::channels, "of the result: 1, or 3 equal ones");
  registry
      .Add<GrayscaleParams>("grayscale", "Make an image grey.", std::move(params),
                            [](GrayscaleParams p) -> absl::StatusOr<std::unique_ptr<Op>> {
                              if (p.channels != 1 && p.channels != 3)
                                return InvalidArgument("channels: expected 1 or 3, got {}",
                                                       p.channels);
                              return std::make_unique<Grayscale>(std::move(p));
                            })
      .bare_param = "field";
}

}  // namespace headrace
