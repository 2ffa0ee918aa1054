#include <chrono>

#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Schema kInput({{"a", DType::kInt64, {}}});

TEST(SleepTest, EachRowTakesItsTimeAndStaysAsItWas) {
  auto step = Build("sleep", Params().Set("seconds", 0.005), kInput);
  ASSERT_TRUE(step.ok()) << step.status();
  Block block = Rows(step->input, {{Num<int64_t>(1)}, {Num<int64_t>(2)}, {Num<int64_t>(3)}});
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(15));
  EXPECT_EQ(Column<int64_t>(block, 0), (std::vector<int64_t>{1, 2, 3}));
}

TEST(SleepTest, ALengthThatIsNoneIsRefused) {
  for (double seconds : {-1.0, 61.0}) {
    EXPECT_THAT(MessageOf(Build("sleep", Params().Set("seconds", seconds), kInput)),
                testing::HasSubstr("between 0 and 60"));
  }
}

}  // namespace
}  // namespace headrace::op_test
