// A subprocess that answers, cannot tell of it, and takes its time to end: the row that did it to
// the process is lost with it, as when it ends at once.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/udf/udf_rig.h"

namespace headrace::udf {
namespace {

// What the end of the process prints takes several times as long as the keeper waits between looks.
constexpr char kModule[] = R"(
import os, sys, time

class Slow:
    def write(self, text):
        time.sleep(0.1)
    def flush(self):
        pass

def cut_off(record):
    if record["x"] == 8:
        os.closerange(3, 100)
        sys.stderr = Slow()
    return record
)";

TEST(SlowDeathTest, WhatCouldNotBeToldIsNoAnswer) {
  Modules modules;
  modules.Write("slow_death", kModule);
  FunctionPool pool(Options(modules));
  FunctionSpec spec;
  spec.function = "slow_death:cut_off";
  spec.timeout = absl::Seconds(20);
  Bound bound(pool, spec, Schema({{"x", DType::kInt64, Shape()}}));
  const absl::StatusOr<Block> out = bound.Run(Numbers(bound.input(), {1, 8, 2}));
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(Values(*out), testing::ElementsAre(1, 2));
  ASSERT_EQ(out->failures().size(), 1u);
  EXPECT_THAT(std::string(out->failures()[0].status.message()),
              testing::HasSubstr("ended its process: it "));
}

}  // namespace
}  // namespace headrace::udf
