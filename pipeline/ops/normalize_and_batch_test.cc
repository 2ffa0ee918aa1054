#include "pipeline/ops/image_rows.h"

namespace headrace::op_test {
namespace {

using testing::HasSubstr;

const std::vector<double> kMean{0.485, 0.456, 0.406}, kStd{0.229, 0.224, 0.225};

Params NormalizeParts(const char* layout) {
  return Params().Set("field", "image").Set("mean", kMean).Set("std", kStd).Set("layout", layout);
}
Params FusedParts(const char* layout, int64_t size) {
  return NormalizeParts(layout).Set("size", size);
}

const Schema kRows({{"n", DType::kInt64, {}}, {"image", DType::kUInt8, {-1, -1, 3}}});

TEST(NormalizeAndBatchTest, BatchesAreThoseOfTheTwoStepsToTheBit) {
  for (const char* layout : {"hwc", "chw"}) {
    for (DType dtype : {DType::kUInt8, DType::kFloat32}) {
      const Schema schema = PixelSchema(dtype);
      auto normalize = Build("normalize", NormalizeParts(layout), schema);
      ASSERT_TRUE(normalize.ok());
      auto batch = Build("batch", Params().Set("size", 4), *normalize->output);
      auto fused = Build("_normalize_and_batch", FusedParts(layout, 4), schema);
      ASSERT_TRUE(fused.ok()) << fused.status();
      EXPECT_EQ(fused->output->ToString(), batch->output->ToString());
      Stage apart(*batch), together(*fused);
      const TestImage picture = MakePicture(13, 7);
      const CellMaker image = dtype == DType::kUInt8 ? Pixels(picture) : FloatPixels(picture);
      for (uint64_t first : {0, 5}) {
        Block rows = Repeated(normalize->input, image, 5, first);
        ASSERT_TRUE(together.Push(Repeated(normalize->input, image, 5, first)).ok());
        ASSERT_TRUE(RunStateless(*normalize, rows).ok());
        ASSERT_TRUE(apart.Push(std::move(rows)).ok());
      }
      ASSERT_TRUE(apart.Finish().ok());
      ASSERT_TRUE(together.Finish().ok());
      ASSERT_EQ(together.filled().size(), 3u);
      for (size_t i = 0; i < 3; ++i) {
        const Block &a = *apart.filled()[i], &b = *together.filled()[i];
        EXPECT_EQ(a.column(0)[0].shape, b.column(0)[0].shape);
        EXPECT_EQ(Column<float>(a, 0), Column<float>(b, 0));
        EXPECT_EQ(a.provenance(0), b.provenance(0));
      }
    }
  }
}

TEST(NormalizeAndBatchTest, AnImageOfAnotherSizeFailsAloneAndIsNamed) {
  auto step = Build("_normalize_and_batch", FusedParts("chw", 2), kRows);
  ASSERT_TRUE(step.ok()) << step.status();
  Stage stage(*step);
  std::vector<std::vector<CellMaker>> rows;
  for (int64_t height : {9, 8, 9})
    rows.push_back({Nums<int64_t>({height}, {}), Pixels(MakePicture(height, 7))});
  ASSERT_TRUE(stage.Push(Rows(step->input, rows, 0)).ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.filled().size(), 1u);
  EXPECT_EQ(Column<int64_t>(*stage.filled()[0], 0), (std::vector<int64_t>{9, 9}));
  EXPECT_EQ(stage.filled()[0]->column(1)[0].shape, (Shape{2, 3, 9, 7}));
  ASSERT_EQ(stage.failures().size(), 1u);
  EXPECT_THAT(std::string(stage.failures()[0].status.message()),
              HasSubstr("record 1 of split 0 has image [8, 7, 3] where the batch, begun by record "
                        "0 of split 0, has [9, 7, 3]"));
}

TEST(NormalizeAndBatchTest, AnImageThatCannotBeScaledBeginsNoBatch) {
  auto step =
      Build("_normalize_and_batch", FusedParts("hwc", 2), PixelSchema(DType::kUInt8, {-1, -1, -1}));
  ASSERT_TRUE(step.ok()) << step.status();
  Stage stage(*step);
  const TestImage grey{9, 7, 1, std::vector<uint8_t>(63, 5)};
  const CellMaker colour = Pixels(MakePicture(9, 7));
  ASSERT_TRUE(
      stage.Push(Rows(step->input, {{Pixels(grey)}, {colour}, {Pixels(grey)}, {colour}}, 0)).ok());
  ASSERT_TRUE(stage.Finish().ok());
  ASSERT_EQ(stage.filled().size(), 1u);
  EXPECT_EQ(stage.filled()[0]->column(0)[0].shape, (Shape{2, 9, 7, 3}));
  ASSERT_EQ(stage.failures().size(), 2u);
  EXPECT_THAT(std::string(stage.failures()[0].status.message()),
              HasSubstr("field 'image': image is [9, 7, 1], mean and std have 3 values"));
}

TEST(NormalizeAndBatchTest, ParametersOfBothStepsAreChecked) {
  EXPECT_THAT(MessageOf(Build("_normalize_and_batch", FusedParts("hwc", 0), PixelSchema())),
              HasSubstr("size"));
  EXPECT_THAT(MessageOf(Build("_normalize_and_batch", FusedParts("cwh", 1), PixelSchema())),
              HasSubstr("layout"));
}

}  // namespace
}  // namespace headrace::op_test
