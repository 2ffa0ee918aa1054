#include "pipeline/udf/function_spec.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

TEST(FunctionSpecTest, ReturnedTypesHaveAnyShape) {
  const auto shape = [](std::string_view type) { return ParseReturnedField("f", type)->shape; };
  EXPECT_EQ(shape("int64"), Shape());
  EXPECT_EQ(shape("int64[]"), Shape{-1});
  EXPECT_EQ(shape("uint8[?, 4,3]"), (Shape{-1, 4, 3}));
  EXPECT_EQ(shape("float32[None, 2]"), (Shape{-1, 2}));
  EXPECT_EQ(shape("float32[...]"), Shape::Unknown());
  EXPECT_EQ(ParseReturnedField("f", " bytes [2]")->dtype, DType::kBytes);
  for (const char* wrong : {"", "int65", "int64[", "int64[-1]", "int64[x]", "int64[1]]", "[3]",
                            "int64[1,1,1,1,1,1,1]", "int64[1,]"}) {
    EXPECT_EQ(ParseReturnedField("f", wrong).status().code(), absl::StatusCode::kInvalidArgument)
        << wrong;
  }
}

TEST(FunctionSpecTest, TheSpecIsWhatASubprocessIsTold) {
  FunctionSpec spec;
  spec.function = "m:f";
  spec.inputs = {{"a", DType::kBytes, {}}};
  spec.outputs = {{"b", DType::kInt64, Shape{-1}}, {"c", DType::kBool, Shape::Unknown()}};
  EXPECT_EQ(SpecJson(spec, {"/p"}, 7),
            R"({"kind":"map","function":"m:f","pickled":"","batched":false,"random":false,)"
            R"("requires":[],"inputs":[["a","bytes"]],"outputs":[["b","int64",[-1]],)"
            R"(["c","bool",null]],"path":["/p"],"parent":7})");
}

}  // namespace
}  // namespace headrace
