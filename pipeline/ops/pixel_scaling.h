// (x * scale - mean) / std of an image field: what `normalize` does to a row, for the steps that do
// it in their own memory. Immutable after Bind, used by any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "element/block.h"
#include "element/schema.h"
#include "pipeline/imaging/convert.h"
#include "pipeline/ops/image_field.h"

namespace headrace {

struct NormalizeParams {
  std::string field;
  std::vector<double> mean = {0.0};
  std::vector<double> std = {1.0};
  std::optional<double> scale;
  std::string layout = "hwc";
};

class PixelScaling {
 public:
  // INVALID_ARGUMENT for parameters that no image fits.
  static absl::StatusOr<PixelScaling> Make(NormalizeParams params);

  // Finds the field, uint8 or float32 [height, width, channels], in `input`; what leaves has it as
  // float32 in the layout asked for.
  absl::StatusOr<Schema> Bind(const Schema& input);

  const std::string& field() const { return params_.field; }
  Layout layout() const { return layout_; }
  const ImageField& image() const { return image_; }
  // INVALID_ARGUMENT for an image of a shape that cannot be scaled.
  absl::Status Check(const Shape& shape) const;
  // Of what Write makes of an image of `shape`.
  Shape ShapeAfter(const Shape& shape) const;
  // shape.items() floats at `out`. The image has passed Check.
  void Write(const Cell& image, float* out, Stores stores = Stores::kCached) const;

 private:
  PixelScaling(NormalizeParams params, Layout layout)
      : params_(std::move(params)), layout_(layout) {}

  NormalizeParams params_;
  Layout layout_;
  ImageField image_;
  size_t channels_ = 1;  // values given; 1: the same for each
  std::vector<float> factor_, offset_;
};

}  // namespace headrace
