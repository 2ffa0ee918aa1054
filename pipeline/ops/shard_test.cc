#include "pipeline/ops/op_harness.h"

namespace headrace::op_test {
namespace {

const Schema kInput({{"x", DType::kInt64, {}}});

TEST(ShardTest, EachRowBelongsToExactlyOneSlotHoweverBlocksAreCut) {
  auto step = Build("shard", Params(), kInput);
  ASSERT_TRUE(step.ok()) << step.status();
  for (size_t cut : {1u, 3u, 10u}) {
    std::map<int64_t, std::vector<size_t>> slots;
    for (size_t shard = 0; shard < 3; ++shard) {
      for (size_t first = 0; first < 10; first += cut) {
        std::vector<int64_t> values;
        for (size_t i = first; i < std::min<size_t>(first + cut, 10); ++i)
          values.push_back(static_cast<int64_t>(i));
        Block block = Numbers(step->input, values, first);
        const auto& op = dynamic_cast<const StatelessOp&>(*step->op);
        ASSERT_TRUE(op.Run(block, {.random = {}, .shard = shard, .shards = 3}).ok());
        block.Compact();
        EXPECT_TRUE(block.settled().empty());  // another slot's rows are not this one's to settle
        for (int64_t v : Column<int64_t>(block, 0)) slots[v].push_back(shard);
      }
    }
    ASSERT_EQ(slots.size(), 10u);
    for (const auto& [value, where] : slots)
      EXPECT_EQ(where, std::vector<size_t>{static_cast<size_t>(value) % 3});
  }
}

TEST(ShardTest, WithoutShardingEveryRowPasses) {
  auto step = Build("shard", Params(), kInput);
  ASSERT_TRUE(step.ok());
  Block block = Numbers(step->input, {1, 2, 3});
  ASSERT_TRUE(RunStateless(*step, block).ok());
  EXPECT_EQ(block.rows(), 3u);
}

}  // namespace
}  // namespace headrace::op_test
