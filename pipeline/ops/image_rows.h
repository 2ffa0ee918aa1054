// For the tests of image steps only: rows that hold an image or an image file.
#pragma once

#include <string>
#include <vector>

#include "pipeline/imaging/test_images.h"
#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {

inline const Schema kFileSchema({{"image", DType::kBytes, {}}});
inline Schema PixelSchema(DType dtype = DType::kUInt8, Shape shape = {-1, -1, 3}) {
  return Schema({{"image", dtype, shape}});
}

inline CellMaker Pixels(const TestImage& image) {
  return Nums<uint8_t>(image.pixels, {image.height, image.width, image.channels});
}
inline CellMaker FloatPixels(const TestImage& image) {
  return Nums<float>({image.pixels.begin(), image.pixels.end()},
                     {image.height, image.width, image.channels});
}

inline TestImage ImageOf(const Cell& cell) {
  const auto bytes = cell.as<uint8_t>();
  return {cell.shape[0], cell.shape[1], cell.shape[2], {bytes.begin(), bytes.end()}};
}

// `image` as rows first, first+1, ... of split 0.
inline Block Repeated(const SchemaPtr& schema, const CellMaker& image, size_t rows,
                      uint64_t first = 0) {
  return Rows(schema, std::vector<std::vector<CellMaker>>(rows, {image}), first);
}

// Runs one step over `rows` rows of one image; the block that comes out.
inline Block RunOnImage(std::string_view name, const Params& params, const Schema& schema,
                        const CellMaker& image, size_t rows = 1, const RandomKey& key = {}) {
  auto step = Build(name, params, schema);
  EXPECT_TRUE(step.ok()) << step.status();
  if (!step.ok()) return Block(std::make_shared<const Schema>());
  Block block = Repeated(step->input, image, rows);
  StepContext context;
  context.random = key;
  EXPECT_TRUE(RunStateless(*step, block, context).ok());
  return block;
}

inline std::string FirstFailure(const Block& block) {
  return block.failures().empty() ? "" : std::string(block.failures().front().status.message());
}

}  // namespace headrace::op_test
