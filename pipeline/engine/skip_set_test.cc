#include "pipeline/engine/skip_set.h"

#include <random>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/engine/record_sieve.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Runs = google::protobuf::RepeatedPtrField<v1::Run>;
using ElementRun = Run;  // inside a TEST, Run is gtest's

void Add(Runs& runs, uint64_t first, uint64_t count, uint32_t part = 0, uint32_t parts = 0) {
  v1::Run& run = *runs.Add();
  run.set_first(first);
  run.set_count(count);
  run.set_part(part);
  run.set_parts(parts);
}

TEST(SkipSetTest, AgreesWithASetOfRecordsInAnyOrderOfAsking) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    Runs runs;
    std::set<uint64_t> records;
    for (int i = 0; i < 20; ++i) {
      const uint64_t first = random() % 200;
      const uint64_t count = random() % 8;
      Add(runs, first, count);
      for (uint64_t r = first; r < first + count; ++r) records.insert(r);
    }
    const SkipSet set(runs);
    size_t cursor = 0;
    for (uint64_t r = 0; r < 220; ++r)
      EXPECT_EQ(set.HasRecord(r, cursor), records.contains(r)) << r;
    for (int i = 0; i < 200; ++i) {
      const uint64_t r = random() % 220;
      EXPECT_EQ(set.HasRecord(r, cursor), records.contains(r)) << r;
    }
  }
}

TEST(SkipSetTest, AllPartsOfARecordMakeItDoneSomeDoNot) {
  Runs runs;
  Add(runs, 3, 1, 0, 2);
  Add(runs, 3, 1, 1, 2);
  Add(runs, 5, 2, 1, 3);
  Add(runs, 5, 1, 1, 3);  // said twice
  Add(runs, 9, 1, 0, 2);
  Add(runs, 9, 1);  // and as a whole
  const SkipSet set(runs);
  size_t cursor = 0;
  EXPECT_TRUE(set.HasRecord(3, cursor));
  EXPECT_FALSE(set.HasRecord(5, cursor));
  EXPECT_TRUE(set.HasRecord(9, cursor));
  EXPECT_THAT(set.PartTotals(), ElementsAre(Pair(3u, 2u)));
  EXPECT_THAT(set.PartsOf(6), Pair(3u, 1u));
  EXPECT_EQ(set.CountElements(ElementRun{.first = 5, .count = 2, .part = 1, .parts = 3}), 2u);
  EXPECT_EQ(set.CountElements(ElementRun{.first = 5, .count = 2, .part = 0, .parts = 3}), 0u);
  EXPECT_EQ(set.CountElements(ElementRun{.first = 3, .count = 1, .part = 0, .parts = 2}), 1u);
}

TEST(RecordSieveTest, LeavesOutDeliveredRecordsAndOtherShardsAndStampsThePass) {
  auto schema = std::make_shared<const Schema>();
  Block block(schema);
  for (uint64_t i = 0; i < 12; ++i) {
    if (i == 4) {
      block.FailRecord(ElementRun{.split = 1, .first = i, .count = 1}, absl::DataLossError("bad"));
    } else if (i == 5) {
      block.FailRecord(ElementRun{.split = 1, .first = i, .count = 1},
                       absl::DataLossError("bad too"));
    } else if (i == 8) {
      block.settled().push_back(ElementRun{.split = 1, .first = 8, .count = 2});  // without content
    } else if (i != 9) {
      block.AppendRow({ElementRun{.split = 1, .first = i, .count = 1}}, {});
    }
  }
  Runs skipped;
  Add(skipped, 0, 2);
  Add(skipped, 5, 1);
  RecordSieve sieve(
      {.pass = 7, .shard = 1, .shards = 2, .skip = std::make_shared<const SkipSet>(skipped)});
  const RecordSieve::Passed passed = sieve.Sift(block);
  // Shard 1 of 2 of split 1 is the even records; 0 was delivered; 4 is damaged, 8 has no content.
  EXPECT_EQ(passed.records, 12u);
  EXPECT_EQ(passed.entered, 5u);
  ASSERT_EQ(block.rows(), 3u);
  EXPECT_EQ(block.provenance(0)[0].first, 2u);
  EXPECT_EQ(block.provenance(1)[0].first, 6u);
  EXPECT_EQ(block.provenance(2)[0].first, 10u);
  EXPECT_EQ(block.provenance(2)[0].pass, 7u);
  EXPECT_THAT(block.settled(),
              ElementsAre(ElementRun{.split = 1, .first = 4, .count = 1, .pass = 7},
                          ElementRun{.split = 1, .first = 8, .count = 1, .pass = 7}));
  ASSERT_EQ(block.failures().size(), 1u);
  EXPECT_EQ(block.failures()[0].record.first, 4u);
  EXPECT_TRUE(block.dropped().empty());
}

}  // namespace
}  // namespace headrace
