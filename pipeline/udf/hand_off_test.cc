// Blocks that come as others are done: none is forgotten, however quick they are.
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "pipeline/udf/udf_rig.h"

namespace headrace::udf {
namespace {

class HandOffTest : public ::testing::TestWithParam<size_t> {};

TEST_P(HandOffTest, EveryBlockComesBackWithSoManyUnderWay) {
  Modules modules;
  modules.Write("quick", "def same(batch):\n    return batch\n");
  for (const size_t processes : {1, 2}) {
    FunctionPoolOptions options = Options(modules);
    options.processes = processes;
    FunctionPool pool(options);
    FunctionSpec spec;
    spec.function = "quick:same";
    spec.batched = true;
    Bound bound(pool, spec, Schema({{"x", DType::kInt64, Shape()}}));
    absl::Mutex mutex;
    size_t running = 0, done = 0;
    constexpr size_t kBlocks = 3000;
    for (size_t i = 0; i < kBlocks; ++i) {
      {
        absl::MutexLock lock(&mutex);
        const auto room = [&] { return running < GetParam(); };
        ASSERT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&room), absl::Seconds(30))) << i;
        ++running;
      }
      bound.session().Start(Numbers(bound.input(), {static_cast<int64_t>(i)}),
                            [&](absl::StatusOr<AsyncResult> result) {
                              absl::MutexLock lock(&mutex);
                              EXPECT_TRUE(result.ok()) << result.status();
                              --running;
                              ++done;
                            });
    }
    absl::MutexLock lock(&mutex);
    const auto all = [&] { return done == kBlocks; };
    EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&all), absl::Seconds(30))) << done;
  }
}

INSTANTIATE_TEST_SUITE_P(UnderWay, HandOffTest, ::testing::Values(1, 2, 3, 4, 10));

}  // namespace
}  // namespace headrace::udf
