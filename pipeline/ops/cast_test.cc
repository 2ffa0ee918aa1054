#include <cmath>
#include <limits>

#include "element/numeric.h"
#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

absl::StatusOr<BoundStep> BuildCast(DType from, std::string to, Shape shape = {}) {
  return Build("cast", Params().Set("field", "x").Set("dtype", std::move(to)),
               Schema({{"x", from, shape}}));
}

// One row with all of `in`; the cast row, or nothing when it failed.
template <typename To, typename From>
std::vector<To> Cast(DType from, std::vector<From> in, std::string to) {
  auto step = BuildCast(from, std::move(to), {-1});
  EXPECT_TRUE(step.ok()) << step.status();
  Block block = Rows(step->input, {{Nums<From>(std::move(in))}});
  EXPECT_TRUE(RunStateless(*step, block).ok());
  return Column<To>(block, 0);
}

// Why the only row failed.
std::string FailureOf(DType from, CellMaker cell, std::string to, Shape shape = {}) {
  auto step = BuildCast(from, std::move(to), shape);
  EXPECT_TRUE(step.ok()) << step.status();
  Block block = Rows(step->input, {{std::move(cell)}});
  EXPECT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.rows(), 0u);
  return block.failures().empty() ? "" : std::string(block.failures()[0].status.message());
}

TEST(CastTest, EveryNumericPairKeepsWhatBothTypesHold) {
  for (int from = 1; from <= 13; ++from) {
    for (int to = 1; to <= 13; ++to) {
      const auto from_type = static_cast<DType>(from), to_type = static_cast<DType>(to);
      auto step = BuildCast(from_type, std::string(Name(to_type)), {2, 1, 1, 1, 1});
      ASSERT_TRUE(step.ok());
      ASSERT_EQ(step->output->ToString(), fmt::format("{{x: {} [2, 1, 1, 1, 1]}}", Name(to_type)));
      Block block = VisitNumeric(from_type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T zero, one;
        EXPECT_TRUE(ParseDecimal("0", zero) && ParseDecimal("1", one));
        const auto row = [&](Arena& arena) {
          const T values[] = {zero, one};
          return MakeCell<T>(arena, std::span<const T>(values), {2, 1, 1, 1, 1});
        };
        return Rows(step->input, {{row}});
      });
      ASSERT_TRUE(RunStateless(*step, block).ok());
      ASSERT_EQ(block.rows(), 1u);
      VisitNumeric(to_type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T zero, one;
        EXPECT_TRUE(ParseDecimal("0", zero) && ParseDecimal("1", one));
        EXPECT_TRUE(block.column(0)[0].as<T>()[0] == zero && block.column(0)[0].as<T>()[1] == one)
            << Name(from_type) << " to " << Name(to_type);
      });
    }
  }
}

TEST(CastTest, FractionsAreCutTowardsZero) {
  EXPECT_EQ(Cast<int8_t>(DType::kFloat32, std::vector<float>{-128.9f, 127.9f, -0.5f}, "int8"),
            (std::vector<int8_t>{-128, 127, 0}));
  EXPECT_EQ(Cast<uint8_t>(DType::kFloat64, std::vector<double>{-0.9, 255.99}, "uint8"),
            (std::vector<uint8_t>{0, 255}));
  EXPECT_EQ(Cast<int64_t>(DType::kFloat64, std::vector<double>{-0x1p63, 0x1p62}, "int64"),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::min(), int64_t{1} << 62}));
  EXPECT_EQ(Cast<uint64_t>(DType::kFloat32, std::vector<float>{0x1p63f}, "uint64"),
            (std::vector<uint64_t>{uint64_t{1} << 63}));
  EXPECT_EQ(Cast<uint8_t>(DType::kFloat32, std::vector<float>{0, -0.0f, 0.1f, NAN}, "bool"),
            (std::vector<uint8_t>{0, 0, 1, 1}));
}

TEST(CastTest, FloatsRoundToNearestEven) {
  EXPECT_EQ(
      Cast<uint16_t>(DType::kFloat64, std::vector<double>{1.0 + 0x1p-11 + 0x1p-40, 1e9}, "float16"),
      (std::vector<uint16_t>{0x3c01, 0x7c00}));
  EXPECT_EQ(Cast<uint16_t>(DType::kFloat32,
                           std::vector<float>{1.0f, -2.0f, 3.0f, 4, 5, 6, 7, 8, 65504}, "float16")
                .back(),
            0x7bff);
  EXPECT_EQ(Cast<float>(DType::kBFloat16, std::vector<uint16_t>{0x3f80, 0xc000}, "float32"),
            (std::vector<float>{1, -2}));
  EXPECT_EQ(Cast<float>(DType::kFloat64, std::vector<double>{0.1, 1e300}, "float32"),
            (std::vector<float>{0.1f, std::numeric_limits<float>::infinity()}));
}

TEST(CastTest, AValueThatDoesNotFitFailsItsRowAndNamesIt) {
  EXPECT_EQ(FailureOf(DType::kFloat32, Num(256.0f), "uint8"),
            "cast: x is 256, which does not fit uint8");
  EXPECT_EQ(FailureOf(DType::kFloat32, Nums<float>({1, NAN}), "int32", {-1}),
            "cast: x item 1 is nan, which does not fit int32");
  EXPECT_EQ(FailureOf(DType::kInt64, Num<int64_t>(-1), "uint64"),
            "cast: x is -1, which does not fit uint64");
  EXPECT_NE(FailureOf(DType::kFloat64, Num(0x1p63), "int64"), "");
  EXPECT_NE(FailureOf(DType::kFloat64, Num(-129.0), "int8"), "");
  EXPECT_NE(FailureOf(DType::kFloat16, Num<uint16_t>(0x7c00), "int64"), "");
  EXPECT_NE(FailureOf(DType::kUInt64, Num(std::numeric_limits<uint64_t>::max()), "int64"), "");
}

TEST(CastTest, OnlyTheWrongRowsFail) {
  auto step = BuildCast(DType::kInt64, "int8");
  ASSERT_TRUE(step.ok());
  Block block = Numbers(step->input, {1, 1000, 2, -129, 3});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int8_t>(block, 0), (std::vector<int8_t>{1, 2, 3}));
  EXPECT_EQ(block.failures().size(), 2u);
  EXPECT_EQ(block.settled().size(), 2u);
}

TEST(CastTest, TextIsReadAsADecimalNumber) {
  auto step = BuildCast(DType::kBytes, "int64");
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Text("42\n")}, {Text("-7")}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int64_t>(block, 0), (std::vector<int64_t>{42, -7}));
  auto list = BuildCast(DType::kBytes, "float32", {-1});
  ASSERT_TRUE(list.ok());
  block = Rows(list->input, {{Texts({"1.5", " 2e3 "}, {2})}, {Texts({}, {0})}});
  ASSERT_TRUE(RunStateless(*list, block).ok());
  EXPECT_EQ(Column<float>(block, 0), (std::vector<float>{1.5f, 2000.0f}));
  EXPECT_EQ(FailureOf(DType::kBytes, Text(std::string("4\0", 2)), "int64"),
            "cast: x is the text '4\\x00', which is no int64");
  EXPECT_EQ(FailureOf(DType::kBytes, Texts({"1", "x"}, {2}), "float32", {2}),
            "cast: x item 1 is the text 'x', which is no float32");
}

TEST(CastTest, TheSameTypeCostsNothing) {
  auto step = BuildCast(DType::kBytes, "bytes");
  ASSERT_TRUE(step.ok());
  Block block = Rows(step->input, {{Text("abc")}});
  const std::byte* data = block.column(0)[0].data;
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.column(0)[0].data, data);
}

TEST(CastTest, WrongTypesAreErrors) {
  EXPECT_EQ(MessageOf(BuildCast(DType::kInt64, "bytes")),
            "field 'x' is int64; cast makes no bytes of numbers");
  EXPECT_THAT(MessageOf(BuildCast(DType::kInt64, "int")),
              testing::StartsWith("dtype: unknown dtype 'int'; known: bool"));
  EXPECT_THAT(MessageOf(Build("cast", Params().Set("field", "y").Set("dtype", "int8"), Schema())),
              testing::StartsWith("no field 'y'"));
}

}  // namespace
}  // namespace headrace::op_test
