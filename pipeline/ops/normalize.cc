// normalize: pixels -> float32 with a channel's mean taken out, in units of its deviation: (x *
// scale - mean) / std.
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/ops/image_field.h"
#include "pipeline/ops/pixel_scaling.h"

namespace headrace {
namespace {

class Normalize final : public StatelessOp {
 public:
  explicit Normalize(PixelScaling scaling) : scaling_(std::move(scaling)) {}

  OpTraits traits() const override {
    OpTraits traits;
    traits.fields = {scaling_.field()};
    if (scaling_.layout() == Layout::kHwc) traits.work = FieldWork::kValues;
    return traits;
  }

  absl::StatusOr<Schema> Bind(const Schema& input) override { return scaling_.Bind(input); }

  absl::Status Run(Block& block, const StepContext&) const override {
    ForEachImage(block, scaling_.image(), [&](size_t, Cell& cell) -> absl::Status {
      HR_RETURN_IF_ERROR(scaling_.Check(cell.shape));
      const size_t bytes = static_cast<size_t>(cell.shape.items()) * sizeof(float);
      std::byte* out = block.arena().Allocate(bytes);
      scaling_.Write(cell, reinterpret_cast<float*>(out));
      cell = {out, bytes, scaling_.ShapeAfter(cell.shape)};
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  PixelScaling scaling_;
};

absl::StatusOr<std::unique_ptr<Op>> MakeNormalize(NormalizeParams params) {
  HR_ASSIGN_OR_RETURN(PixelScaling scaling, PixelScaling::Make(std::move(params)));
  return std::make_unique<Normalize>(std::move(scaling));
}

}  // namespace

void Register_normalize(OpRegistry& registry) {
  ParamSet<NormalizeParams> params;
  params
      .Required("field", &NormalizeParams::field,
                "image, uint8 or float32 [height, width, channels]")
      .Optional("mean", &NormalizeParams::mean,
                "per channel, after scale; a single value is for all")
      .Optional("std", &NormalizeParams::std, "per channel, after scale; a single value is for all")
      .Optional("scale", &NormalizeParams::scale,
                "what pixels are multiplied with first; default 1/255 for uint8, 1 for float32")
      .Optional("layout", &NormalizeParams::layout, "hwc or chw: [channels, height, width]");
  registry.Add<NormalizeParams>("normalize", "Pixels to float32: (pixel * scale - mean) / std.",
                                std::move(params), MakeNormalize);
}

}  // namespace headrace
