#include "pipeline/engine/accounting.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/formats/reading/file_run.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;
using ElementRun = Run;  // inside a TEST, Run is gtest's

v1::Lease MakeLease(uint64_t number, uint64_t split, uint32_t pass = 0) {
  v1::Lease lease;
  lease.set_number(number);
  lease.mutable_split()->set_id(split);
  lease.mutable_split()->set_path("a.tfrecord");
  lease.set_pass(pass);
  return lease;
}

Block Rows(const std::vector<Provenance>& rows) {
  Block block(std::make_shared<const Schema>());
  for (const Provenance& provenance : rows) block.AppendRow(provenance, {});
  return block;
}

class AccountingTest : public ::testing::Test {
 protected:
  void Open(Accounting& books, const v1::Lease& lease) {
    ASSERT_TRUE(books.Open(lease, std::make_shared<const SkipSet>(lease.skip()), 1).ok());
  }
  void Emit(Accounting& books, const std::vector<Provenance>& rows) {
    Block block = Rows(rows);
    ASSERT_TRUE(books.Emit(block).ok());
  }
};

TEST_F(AccountingTest, ABookClosesWhenItIsReadAllIsAccountedForAndReported) {
  Accounting books({});
  Open(books, MakeLease(1, 5));
  books.Enter(1, 4);
  books.ReadToEnd(1, 4);
  EXPECT_EQ(books.TakeReports().size(), 1u);
  Emit(books, {{ElementRun{5, 0, 2}}});
  books.Settle(std::vector<ElementRun>{{5, 3, 1}});
  EXPECT_FALSE(books.AllClosed());
  EXPECT_FALSE(books.Flushed(1).ok());
  Emit(books, {{ElementRun{5, 2, 1}}});
  EXPECT_TRUE(books.Flushed(1).ok());
  EXPECT_FALSE(books.AllClosed());  // the settled record was not reported
  const auto reports = books.TakeReports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(reports[0].read_to_end());
  EXPECT_EQ(reports[0].records(), 4u);
  ASSERT_EQ(reports[0].settled_size(), 1);
  EXPECT_EQ(reports[0].settled(0).first(), 3u);
  EXPECT_TRUE(books.AllClosed());
  EXPECT_TRUE(books.TakeReports().empty());
}

TEST_F(AccountingTest, PartsOfRecordsCountOnlyTogether) {
  Accounting books({});
  Open(books, MakeLease(1, 5));
  books.Enter(1, 2);
  books.ReadToEnd(1, 2);
  books.TakeReports();
  // Record 0 in two parts, record 1 in two: one part of each is not one record.
  Emit(books, {{ElementRun{5, 0, 1, 0, 2}}, {ElementRun{5, 1, 1, 1, 2}}});
  EXPECT_FALSE(books.AllClosed());
  Emit(books, {{ElementRun{5, 0, 1, 1, 2}}});
  EXPECT_FALSE(books.AllClosed());
  Emit(books, {{ElementRun{5, 1, 1, 0, 2}}});
  EXPECT_TRUE(books.AllClosed());
}

TEST_F(AccountingTest, ADoubledRecordIsFoundAtTheFlush) {
  Accounting books({});
  Open(books, MakeLease(1, 5));
  books.Enter(1, 2);
  books.ReadToEnd(1, 2);
  Emit(books, {{ElementRun{5, 0, 2}}, {ElementRun{5, 1, 1}}});
  EXPECT_THAT(std::string(books.Flushed(1).message()), HasSubstr("doubled"));
}

TEST_F(AccountingTest, TheSamePassUnderTwoLeasesIsRefusedTheSameLeaseTwiceIsNot) {
  Accounting books({});
  Open(books, MakeLease(1, 5));
  const auto none = std::make_shared<const SkipSet>();
  EXPECT_EQ(*books.Open(MakeLease(1, 5), none, 1), false);
  EXPECT_THAT(std::string(books.Open(MakeLease(2, 5), none, 1).status().message()),
              HasSubstr("under lease 1"));
  EXPECT_TRUE(books.Open(MakeLease(3, 5, 1), none, 1).ok());
}

TEST_F(AccountingTest, AnAbandonedBookReportsWhatWasEmittedAndForgetsTheRest) {
  Accounting books({.keep_emitted = true});
  Open(books, MakeLease(1, 5));
  books.Enter(1, 10);
  Emit(books, {{ElementRun{5, 2, 1}}, {ElementRun{5, 0, 1}}, {ElementRun{5, 1, 1}}});
  books.Abandon();
  const auto reports = books.TakeReports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(reports[0].abandoned());
  EXPECT_FALSE(reports[0].read_to_end());
  ASSERT_EQ(reports[0].emitted_size(), 1);
  EXPECT_EQ(reports[0].emitted(0).count(), 3u);
  books.Settle(std::vector<ElementRun>{{5, 7, 1}});  // a straggler of a block that was under way
  EXPECT_TRUE(books.AllClosed());
}

TEST_F(AccountingTest, APartThatWasDeliveredBeforeIsLeftOutWhereItAppears) {
  Accounting books({});
  v1::Lease lease = MakeLease(1, 5);
  v1::Run& run = *lease.add_skip();
  run.set_first(0);
  run.set_count(1);
  run.set_part(0);
  run.set_parts(2);
  Open(books, lease);
  books.Enter(1, 1);
  books.EnterPart(1, 2, 1);
  books.ReadToEnd(1, 1);
  books.TakeReports();
  Block block = Rows({{ElementRun{5, 0, 1, 0, 2}}, {ElementRun{5, 0, 1, 1, 2}}});
  ASSERT_TRUE(books.DropSkippedParts(block).ok());
  block.Compact();
  ASSERT_EQ(block.rows(), 1u);
  ASSERT_TRUE(books.Emit(block).ok());
  EXPECT_TRUE(books.AllClosed());
}

TEST_F(AccountingTest, ARecordThatFailsWholeCountsOnceThoughAPartOfItWasDelivered) {
  Accounting books({});
  v1::Lease lease = MakeLease(1, 5);
  v1::Run& run = *lease.add_skip();
  run.set_first(0);
  run.set_count(1);
  run.set_part(0);
  run.set_parts(2);
  Open(books, lease);
  books.Enter(1, 1);
  books.EnterPart(1, 2, 1);
  books.ReadToEnd(1, 1);
  books.Settle(std::vector<ElementRun>{{5, 0, 1}});
  EXPECT_TRUE(books.Flushed(1).ok()) << books.Flushed(1);
  books.TakeReports();
  EXPECT_TRUE(books.AllClosed());
}

TEST_F(AccountingTest, AReplayDropsDeliveredRowsAndRefusesToCutABatch) {
  Accounting books({.replay = true});
  v1::Lease lease = MakeLease(1, 5);
  v1::Run& run = *lease.add_skip();
  run.set_first(0);
  run.set_count(2);
  Open(books, lease);
  books.Enter(1, 5);
  Block block = Rows({{ElementRun{5, 0, 2}}, {ElementRun{5, 2, 2}}});
  ASSERT_TRUE(books.Emit(block).ok());
  block.Compact();
  ASSERT_EQ(block.rows(), 1u);
  EXPECT_EQ(block.provenance(0)[0].first, 2u);
  Block mixed = Rows({{ElementRun{5, 1, 2}}});
  EXPECT_EQ(books.Emit(mixed).code(), absl::StatusCode::kInternal);
}

TEST_F(AccountingTest, AFailureInASplitOfManyFilesNamesTheRecordsOwnFile) {
  Accounting books({});
  v1::Lease lease = MakeLease(1, 5);
  lease.mutable_split()->clear_path();
  FileRunWriter files(*lease.mutable_split());
  for (const char* name : {"dir/a.jpg", "dir/b.jpg", "dir/c.jpg"}) files.Add({name, 9, 0});
  Open(books, lease);
  const std::vector<RowFailure> failures = {
      {ElementRun{5, 2, 1}, absl::DataLossError("broken"), 1}};
  EXPECT_EQ(books.Fail(failures, "step 3 'resize'", "3:resize"),
            "step 3 'resize': dir/c.jpg: byte 0, record 2 of split 5: broken");
}

TEST_F(AccountingTest, FirstFailuresAreKeptInWordsAllAreCounted) {
  Accounting books({.max_samples = 2});
  Open(books, MakeLease(1, 5));
  std::vector<RowFailure> failures;
  for (uint64_t i = 0; i < 5; ++i)
    failures.push_back({ElementRun{5, i, 1}, absl::DataLossError("broken"), 1});
  EXPECT_EQ(books.Fail(failures, "step 3 'resize'", "3:resize"),
            "step 3 'resize': a.tfrecord: record 0 of the split at 0 to 0: broken");
  const auto reports = books.TakeReports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].failed(), 5u);
  ASSERT_EQ(reports[0].samples_size(), 2);
  EXPECT_EQ(reports[0].samples(1).step(), "3:resize");
  EXPECT_EQ(reports[0].samples(1).code(), static_cast<uint32_t>(absl::StatusCode::kDataLoss));
}

TEST(MergeRunsTest, JoinsWhatFollowsOnAndKeepsPartsApart) {
  std::vector<ElementRun> runs = {{1, 5, 1}, {1, 3, 2}, {1, 6, 1, 0, 2},
                                  {2, 0, 1}, {1, 0, 1}, {1, 6, 1}};
  MergeRuns(runs);
  EXPECT_EQ(runs, (std::vector<ElementRun>{{1, 0, 1}, {1, 3, 4}, {1, 6, 1, 0, 2}, {2, 0, 1}}));
}

}  // namespace
}  // namespace headrace
