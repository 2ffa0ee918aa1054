// normalize: pixels -> float32 with a channel's mean taken out, in units of its deviation: (x *
// scale - mean) / std.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "common/status.h"
#include "pipeline/graph/op_registry.h"
#include "pipeline/imaging/convert.h"
#include "pipeline/ops/image_field.h"

namespace headrace {
namespace {

struct NormalizeParams {
  std::string field;
  std::vector<double> mean = {0.0};
  std::vector<double> std = {1.0};
  std::optional<double> scale;
  std::string layout = "hwc";
};

class Normalize final : public StatelessOp {
 public:
  Normalize(NormalizeParams params, Layout layout) : params_(std::move(params)), layout_(layout) {}

  absl::StatusOr<Schema> Bind(const Schema& input) override {
    HR_ASSIGN_OR_RETURN(image_, RequireImage(input, params_.field, "normalize"));
    const Field& field = input[image_.at];
    const double scale = params_.scale.value_or(image_.dtype == DType::kUInt8 ? 1.0 / 255.0 : 1.0);
    // One value stands for every channel.
    const size_t given = std::max(params_.mean.size(), params_.std.size());
    for (const auto& [name, list] :
         {std::pair{"mean", &params_.mean}, std::pair{"std", &params_.std}}) {
      const auto size = static_cast<int64_t>(list->size());
      if (size == 1 || (image_.channels == Shape::kDynamic && list->size() == given)) continue;
      if (size == image_.channels) continue;
      return InvalidArgument("{} has {} values, field '{}' is {}", name, size, params_.field,
                             field.shape.ToString());
    }
    channels_ = given;
    for (size_t c = 0; c < std::max<size_t>(given, 3); ++c) {
      const double mean = params_.mean[params_.mean.size() == 1 ? 0 : std::min(c, given - 1)];
      const double deviation = params_.std[params_.std.size() == 1 ? 0 : std::min(c, given - 1)];
      factor_.push_back(static_cast<float>(scale / deviation));
      offset_.push_back(static_cast<float>(-mean / deviation));
    }
    Schema out = input;
    out[image_.at].dtype = DType::kFloat32;
    if (layout_ == Layout::kChw)
      out[image_.at].shape = {image_.channels, field.shape[0], field.shape[1]};
    return out;
  }

  absl::Status Run(Block& block, const StepContext&) const override {
    ForEachImage(block, image_, [&](size_t, Cell& cell) -> absl::Status {
      const int64_t height = cell.shape[0], width = cell.shape[1], channels = cell.shape[2];
      if (channels_ != 1 && channels != static_cast<int64_t>(channels_)) {
        return InvalidArgument("image is {}, mean and std have {} values", cell.shape.ToString(),
                               channels_);
      }
      const size_t bytes = static_cast<size_t>(cell.shape.items()) * sizeof(float);
      auto* out = reinterpret_cast<float*>(block.arena().Allocate(bytes));
      const std::span factor(factor_.data(), static_cast<size_t>(channels));
      const std::span offset(offset_.data(), static_cast<size_t>(channels));
      if (image_.dtype == DType::kUInt8) {
        ScalePixels(cell.as<uint8_t>().data(), height * width, factor, offset, layout_, out);
      } else {
        ScalePixels(cell.as<float>().data(), height * width, factor, offset, layout_, out);
      }
      cell = {reinterpret_cast<const std::byte*>(out), bytes,
              layout_ == Layout::kChw ? Shape{channels, height, width} : cell.shape};
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

 private:
  NormalizeParams params_;
  Layout layout_;
  ImageField image_;
  size_t channels_ = 1;  // values given; 1: the same for each
  std::vector<float> factor_, offset_;
};

absl::StatusOr<std::unique_ptr<Op>> MakeNormalize(NormalizeParams p) {
  if (p.mean.empty() || p.std.empty())
    return InvalidArgument("mean and std need a value per channel");
  if (p.mean.size() != p.std.size() && p.mean.size() != 1 && p.std.size() != 1) {
    return InvalidArgument("mean has {} values, std has {}", p.mean.size(), p.std.size());
  }
  for (double m : p.mean) {
    if (!std::isfinite(m)) return InvalidArgument("mean: {} is not a number", m);
  }
  for (double s : p.std) {
    if (!(s > 0) || !std::isfinite(s))
      return InvalidArgument("std: expected numbers above 0, got {}", s);
  }
  if (p.scale && !std::isfinite(*p.scale))
    return InvalidArgument("scale: {} is not a number", *p.scale);
  if (p.layout != "hwc" && p.layout != "chw") {
    return InvalidArgument("layout: expected 'hwc' or 'chw', got '{}'", p.layout);
  }
  const Layout layout = p.layout == "chw" ? Layout::kChw : Layout::kHwc;
  return std::make_unique<Normalize>(std::move(p), layout);
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
