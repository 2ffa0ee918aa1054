// What the steps that call Python functions check before any Python runs. What the functions do:
// pipeline/udf/function_pool_test.cc and client/python/tests/test_functions.py.
#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

Schema Input() {
  return Schema({{"image", DType::kUInt8, Shape{-1, -1, 3}}, {"label", DType::kInt64, {}}});
}

TEST(PythonMapTest, ReturnedFieldsTakeThePlaceOfThoseGiven) {
  auto step =
      Build("python_map",
            Params()
                .Set("function", "m:f")
                .Set("fields", {"image"})
                .Set("returns", StringMap{{"size", "int64[2]"}, {"image", "float32[?, 3]"}}),
            Input());
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{image: float32 [?, 3], label: int64 [], size: int64 [2]}");
}

TEST(PythonMapTest, WithoutReturnsTheTypesAreThoseOfTheInput) {
  auto step = Build("python_map", Params().Set("function", "m:f"), Input());
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(*step->output, Input());
}

TEST(PythonMapTest, WhatIsGivenAndNotReturnedIsGone) {
  auto step =
      Build("python_flat_map",
            Params().Set("function", "m:f").Set("returns", StringMap{{"x", "bytes"}}), Input());
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(step->output->ToString(), "{x: bytes []}");
  EXPECT_TRUE(step->op->traits().cuts_records);
}

TEST(PythonMapTest, AFieldThatPassesByCannotBeReturned) {
  EXPECT_EQ(MessageOf(Build("python_map",
                            Params()
                                .Set("function", "m:f")
                                .Set("fields", {"image"})
                                .Set("returns", StringMap{{"label", "int64"}}),
                            Input())),
            "returns: 'label' is there already, and is not among `fields`");
}

TEST(PythonMapTest, WrongWordsAreNamed) {
  const auto message = [](const Params& params) {
    return MessageOf(Build("python_map", params, Input()));
  };
  EXPECT_THAT(message(Params().Set("function", "f")),
              testing::HasSubstr("package.module:function"));
  EXPECT_THAT(message(Params().Set("function", "m:f").Set("timeout", "soon")),
              testing::HasSubstr("timeout: 'soon' is no duration"));
  EXPECT_THAT(message(Params().Set("function", "m:f").Set("processes", -1)),
              testing::HasSubstr("processes: -1"));
  EXPECT_THAT(message(Params().Set("function", "m:f").Set("fields", {"lable"})),
              testing::HasSubstr("did you mean 'label'"));
  EXPECT_THAT(message(Params().Set("function", "m:f").Set("fields", {"label", "label"})),
              testing::HasSubstr("named twice"));
}

TEST(PythonMapTest, WithoutAPoolTheTaskIsRefused) {
  auto step = Build("python_map", Params().Set("function", "m:f"), Input());
  ASSERT_TRUE(step.ok());
  const auto session = dynamic_cast<const AsyncOp&>(*step->op).Open({});
  EXPECT_EQ(session.status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace headrace::op_test
