#include "pipeline/ops/pixel_scaling.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "common/status.h"

namespace headrace {

absl::StatusOr<PixelScaling> PixelScaling::Make(NormalizeParams params) {
  if (params.mean.empty() || params.std.empty())
    return InvalidArgument("mean and std need a value per channel");
  if (params.mean.size() != params.std.size() && params.mean.size() != 1 &&
      params.std.size() != 1) {
    return InvalidArgument("mean has {} values, std has {}", params.mean.size(), params.std.size());
  }
  for (double m : params.mean) {
    if (!std::isfinite(m)) return InvalidArgument("mean: {} is not a number", m);
  }
  for (double s : params.std) {
    if (!(s > 0) || !std::isfinite(s))
      return InvalidArgument("std: expected numbers above 0, got {}", s);
  }
  if (params.scale && !std::isfinite(*params.scale))
    return InvalidArgument("scale: {} is not a number", *params.scale);
  if (params.layout != "hwc" && params.layout != "chw") {
    return InvalidArgument("layout: expected 'hwc' or 'chw', got '{}'", params.layout);
  }
  const Layout layout = params.layout == "chw" ? Layout::kChw : Layout::kHwc;
  return PixelScaling(std::move(params), layout);
}

absl::StatusOr<Schema> PixelScaling::Bind(const Schema& input) {
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

absl::Status PixelScaling::Check(const Shape& shape) const {
  if (channels_ != 1 && shape[2] != static_cast<int64_t>(channels_)) {
    return InvalidArgument("image is {}, mean and std have {} values", shape.ToString(), channels_);
  }
  return absl::OkStatus();
}

Shape PixelScaling::ShapeAfter(const Shape& shape) const {
  return layout_ == Layout::kChw ? Shape{shape[2], shape[0], shape[1]} : shape;
}

void PixelScaling::Write(const Cell& image, float* out, Stores stores) const {
  const int64_t pixels = image.shape[0] * image.shape[1];
  const auto channels = static_cast<size_t>(image.shape[2]);
  const std::span factor(factor_.data(), channels);
  const std::span offset(offset_.data(), channels);
  if (image_.dtype == DType::kUInt8) {
    ScalePixels(image.as<uint8_t>().data(), pixels, factor, offset, layout_, out, stores);
  } else {
    ScalePixels(image.as<float>().data(), pixels, factor, offset, layout_, out, stores);
  }
}

}  // namespace headrace
