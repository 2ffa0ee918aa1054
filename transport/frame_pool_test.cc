#include "transport/frame_pool.h"

#include "gtest/gtest.h"

namespace headrace {
namespace {

constexpr size_t kMiB = 1 << 20;

TEST(FramePoolTest, ABufferIsUsedAgain) {
  FramePool pool(4 * kMiB);
  auto first = *pool.Take(kMiB);
  const std::byte* where = first.get();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(where) % 64, 0u);
  first.reset();
  EXPECT_EQ(pool.idle_bytes(), kMiB);
  auto second = *pool.Take(kMiB - 100);
  EXPECT_EQ(second.get(), where);
  EXPECT_EQ(pool.idle_bytes(), 0u);
}

TEST(FramePoolTest, ASmallFrameDoesNotTakeAHugeBuffer) {
  FramePool pool(64 * kMiB);
  pool.Take(32 * kMiB)->reset();
  auto small = *pool.Take(kMiB);
  EXPECT_EQ(pool.idle_bytes(), 32 * kMiB);
}

TEST(FramePoolTest, NoMoreThanTheLimitLiesUnused) {
  FramePool pool(3 * kMiB);
  std::vector<std::shared_ptr<std::byte>> out;
  for (int i = 0; i < 5; ++i) out.push_back(*pool.Take(kMiB));
  out.push_back(*pool.Take(10 * kMiB));
  out.clear();
  EXPECT_EQ(pool.idle_bytes(), 3 * kMiB);
}

TEST(FramePoolTest, BuffersOutliveThePool) {
  auto pool = std::make_unique<FramePool>(4 * kMiB);
  auto bytes = *pool->Take(kMiB);
  pool.reset();
  bytes.get()[kMiB - 1] = std::byte{1};
}

}  // namespace
}  // namespace headrace
