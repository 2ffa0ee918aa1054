// For the tests of image steps only: compares with what torchvision makes of an image
// (tests/golden/make_images.py).
#pragma once

#include <cmath>
#include <string>

#include "common/npy_file.h"
#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {

inline TestImage GoldenImage() {
  const auto in = ReadGolden("image_in");
  if (!in.ok()) {
    ADD_FAILURE() << in.status();
    return {1, 1, 3, {0, 0, 0}};
  }
  return {in->shape[0], in->shape[1], in->shape[2], in->as<uint8_t>()};
}
// Its first channel alone.
inline TestImage GoldenGrey() {
  const TestImage rgb = GoldenImage();
  TestImage grey{rgb.height, rgb.width, 1, {}};
  for (size_t i = 0; i < rgb.pixels.size(); i += 3) grey.pixels.push_back(rgb.pixels[i]);
  return grey;
}
// Levels as float32 in 0 to 1, as torchvision has them.
inline CellMaker UnitPixels(const TestImage& image) {
  std::vector<float> out;
  for (uint8_t level : image.pixels) out.push_back(static_cast<float>(level) / 255.0f);
  return Nums<float>(out, {image.height, image.width, image.channels});
}

// `got`, of type T, is the golden array within `most` everywhere, and exactly it but for `share` of
// the items.
template <typename T>
void ExpectGolden(const Cell& got, const std::string& name, double most, double share) {
  const auto golden = ReadGolden(name);
  ASSERT_TRUE(golden.ok()) << golden.status();
  const Shape shape(golden->shape);
  ASSERT_EQ(got.shape, shape) << name;
  const std::vector<T> expected = golden->as<T>();
  const auto values = got.as<T>();
  ASSERT_EQ(values.size(), expected.size()) << name;
  size_t differ = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double delta =
        std::abs(static_cast<double>(values[i]) - static_cast<double>(expected[i]));
    ASSERT_LE(delta, most) << name << " item " << i << ": " << +values[i] << " for "
                           << +expected[i];
    differ += delta > 0 ? 1 : 0;
  }
  EXPECT_LE(static_cast<double>(differ), share * static_cast<double>(expected.size())) << name;
}

// Levels: the same but for one in a hundred, which is off by one. Floats: within 2e-6 (sums in
// another order).
inline void ExpectLikeTorchvision(std::string_view step, const Params& params,
                                  const std::string& golden, bool grey = false,
                                  bool floats = false) {
  const TestImage image = grey ? GoldenGrey() : GoldenImage();
  const Shape shape{image.height, image.width, image.channels};
  Block block = RunOnImage(step, params, PixelSchema(DType::kUInt8, shape), Pixels(image));
  ASSERT_EQ(block.rows(), 1u) << FirstFailure(block);
  ExpectGolden<uint8_t>(block.column(0)[0], "image_" + golden + "_uint8", 1, 0.01);
  if (!floats) return;
  block = RunOnImage(step, params, PixelSchema(DType::kFloat32, shape), UnitPixels(image));
  ASSERT_EQ(block.rows(), 1u) << FirstFailure(block);
  ExpectGolden<float>(block.column(0)[0], "image_" + golden + "_float32", 2e-6, 1);
}

}  // namespace headrace::op_test
