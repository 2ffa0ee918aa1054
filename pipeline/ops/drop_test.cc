#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Schema kInput({{"a", DType::kInt64, {}}, {"b", DType::kBytes, {}}, {"c", DType::kInt64, {}}});

TEST(DropTest, TheOtherFieldsKeepTheirOrder) {
  auto step = Build("drop", Params().Set("fields", {"b"}), kInput);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{a: int64 [], c: int64 []}");
  Block block = Rows(step->input, {{Num<int64_t>(1), Text("x"), Num<int64_t>(2)}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int64_t>(block, 0), std::vector<int64_t>{1});
  EXPECT_EQ(Column<int64_t>(block, 1), std::vector<int64_t>{2});
}

TEST(DropTest, WrongNamesAreErrorsThatSayWhatIsThere) {
  EXPECT_EQ(MessageOf(Build("drop", Params().Set("fields", {"d"}),
                            Schema({{"label", DType::kInt64, {}}}))),
            "no field 'd' (fields: label)");
  EXPECT_EQ(MessageOf(Build("drop", Params().Set("fields", {"a", "a"}), kInput)),
            "field 'a' is dropped twice");
  EXPECT_THAT(MessageOf(Build("drop", Params().Set("fields", {"a", "b", "c"}), kInput)),
              testing::StartsWith("drop leaves no field of {a: int64 []"));
}

}  // namespace
}  // namespace headrace::op_test
