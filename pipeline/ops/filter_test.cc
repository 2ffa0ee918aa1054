#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

TEST(FilterTest, RowsThatDoNotQualifyAreSettledAndRowsWithoutAnAnswerFail) {
  auto step = Build("filter", Params().Set("where", "12 % n == 0 && length(text) > 1"),
                    Schema({{"n", DType::kInt64, {}}, {"text", DType::kBytes, {}}}));
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_FALSE(step->op->traits().one_to_one);
  Block block = Rows(step->input, {{Num<int64_t>(3), Text("abc")},
                                   {Num<int64_t>(5), Text("abc")},
                                   {Num<int64_t>(0), Text("abc")},
                                   {Num<int64_t>(4), Text("")},
                                   {Num<int64_t>(6), Text(std::string("\0\0", 2))}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int64_t>(block, 0), (std::vector<int64_t>{3, 6}));
  ASSERT_EQ(block.failures().size(), 1u);
  EXPECT_EQ(block.failures()[0].record.first, 2u);
  EXPECT_EQ(block.failures()[0].status.message(),
            "filter: 12 % 0 has no result (character 4 of the condition)");
  EXPECT_EQ(block.settled(), (Runs{{.first = 1, .count = 3}}));
}

TEST(FilterTest, AllOrNoneMayStay) {
  const Schema input({{"n", DType::kInt64, {}}});
  for (const char* where : {"true", "n < 0"}) {
    auto step = Build("filter", Params().Set("where", where), input);
    ASSERT_TRUE(step.ok());
    Block block = Numbers(step->input, {1, 2, 3});
    ASSERT_TRUE(RunStateless(*step, block).ok());
    EXPECT_EQ(block.rows(), where == std::string("true") ? 3u : 0u);
  }
}

TEST(FilterTest, AWrongConditionIsAnErrorWhenThePipelineIsBuilt) {
  EXPECT_EQ(MessageOf(Build("filter", Params().Set("where", "n = 3"),
                            Schema({{"n", DType::kInt64, {}}}))),
            "where: character 3 of 'n = 3': write == to compare");
}

}  // namespace
}  // namespace headrace::op_test
