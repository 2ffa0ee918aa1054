// Blocks that lie in shared memory as the last ones did: what is kept of those must not show.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/udf/udf_rig.h"

namespace headrace::udf {
namespace {

constexpr char kModule[] = R"(
def plus(batch):
    return {"x": batch["x"] + 1}

def same(batch):
    return batch

def reshape(batch):
    x = batch["x"]
    x.shape = (len(x), 1)
    return {"x": x.reshape(-1) + 1}

def either(batch):
    return batch if batch["x"][0] % 2 else {"x": batch["x"] + 1}

def one(record):
    return {"x": record["x"] + 1}

held = []
def hold(batch):
    held.append(batch["x"])
    return {"x": batch["x"] + 1}
)";

class AlikeBlocksTest : public ::testing::Test {
 protected:
  AlikeBlocksTest() { modules_.Write("alike", kModule); }

  // Blocks of several sizes, many of them alike, through one subprocess.
  void Run(const std::string& function, bool batched,
           const std::function<int64_t(int64_t first, int64_t value)>& expected) {
    FunctionPool pool(Options(modules_));
    FunctionSpec spec;
    spec.function = "alike:" + function;
    spec.batched = batched;
    Bound bound(pool, spec, Schema({{"x", DType::kInt64, Shape()}}));
    for (int64_t first = 0; first < 60; ++first) {
      std::vector<int64_t> values, wanted;
      for (int64_t i = 0; i < (first % 7 == 6 ? 9 : 4); ++i)
        values.push_back(100 * first + i + first % 2);
      for (const int64_t value : values) wanted.push_back(expected(values[0], value));
      const auto out = bound.Run(Numbers(bound.input(), values));
      ASSERT_TRUE(out.ok()) << out.status();
      ASSERT_THAT(Values(*out), testing::ElementsAreArray(wanted)) << function << " " << first;
    }
  }

  Modules modules_;
};

TEST_F(AlikeBlocksTest, EachGivesWhatItsOwnRowsAre) {
  const auto plus = [](int64_t, int64_t value) { return value + 1; };
  Run("plus", true, plus);
  Run("one", false, plus);
  Run("same", true, [](int64_t, int64_t value) { return value; });
  Run("either", true, [](int64_t first, int64_t value) { return first % 2 ? value : value + 1; });
}

TEST_F(AlikeBlocksTest, AFunctionThatReshapesOrHoldsItsArraysHarmsNoLaterOne) {
  const auto plus = [](int64_t, int64_t value) { return value + 1; };
  Run("reshape", true, plus);
  Run("hold", true, plus);
}

}  // namespace
}  // namespace headrace::udf
