#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Schema kInput({{"a", DType::kInt64, {}}, {"b", DType::kBytes, {}}});

TEST(RenameTest, TwoFieldsMaySwapTheirNames) {
  auto step = Build("rename", Params().Set("fields", StringMap{{"a", "b"}, {"b", "a"}}), kInput);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{b: int64 [], a: bytes []}");
  Block block = Rows(step->input, {{Num<int64_t>(1), Text("x")}});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(Column<int64_t>(block, 0), std::vector<int64_t>{1});
}

TEST(RenameTest, ATakenNameIsAnError) {
  EXPECT_EQ(MessageOf(Build("rename", Params().Set("fields", StringMap{{"a", "b"}}), kInput)),
            "'a' and 'b' would both be called 'b'");
  EXPECT_EQ(MessageOf(Build("rename", Params().Set("fields", StringMap{{"a", ""}}), kInput)),
            "the new name of field 'a' is empty");
  EXPECT_EQ(MessageOf(Build("rename", Params().Set("fields", StringMap{{"bb", "z"}}), kInput)),
            "no field 'bb'; did you mean 'b'? (fields: a, b)");
}

}  // namespace
}  // namespace headrace::op_test
