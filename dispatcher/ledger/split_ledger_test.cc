#include "dispatcher/ledger/split_ledger.h"

#include <gtest/gtest.h>

#include "fmt/format.h"

namespace headrace::dispatch {
namespace {

v1::Run MakeRun(uint64_t first, uint64_t count, uint32_t part = 0, uint32_t parts = 1) {
  v1::Run run;
  run.set_first(first);
  run.set_count(count);
  run.set_part(part);
  run.set_parts(parts);
  return run;
}

std::string SkipOf(const SplitLedger& ledger) {
  google::protobuf::RepeatedPtrField<v1::Run> skip;
  ledger.AppendSkip(4, 2, &skip);
  std::string text;
  for (const v1::Run& run : skip) {
    EXPECT_EQ(run.split(), 4u);
    EXPECT_EQ(run.pass(), 2u);
    text += fmt::format("[{}+{} {}/{}]", run.first(), run.count(), run.part(), run.parts());
  }
  return text;
}

TEST(SplitLedgerTest, ItIsCompleteWhenDoneIsTheTotalWhicheverComesFirst) {
  SplitLedger ledger;
  ledger.Cover(MakeRun(0, 3));
  EXPECT_FALSE(ledger.Complete());
  ledger.SetTotal(4);
  EXPECT_FALSE(ledger.Complete());
  ledger.Cover(MakeRun(3, 1));
  EXPECT_TRUE(ledger.Complete());
}

TEST(SplitLedgerTest, AnEmptySplitIsCompleteOnceItWasRead) {
  SplitLedger ledger;
  ledger.SetTotal(0);
  EXPECT_TRUE(ledger.Complete());
}

TEST(SplitLedgerTest, ARecordOfPartsIsDoneWithItsLastPart) {
  SplitLedger ledger;
  ledger.SetTotal(1);
  EXPECT_EQ(ledger.Cover(MakeRun(0, 1, 0, 3)), 1u);
  EXPECT_EQ(ledger.Cover(MakeRun(0, 1, 2, 3)), 1u);
  EXPECT_EQ(ledger.Cover(MakeRun(0, 1, 2, 3)), 0u);
  EXPECT_FALSE(ledger.Complete());
  EXPECT_EQ(SkipOf(ledger), "[0+1 0/3][0+1 2/3]");
  EXPECT_EQ(ledger.Cover(MakeRun(0, 1, 1, 3)), 1u);
  EXPECT_TRUE(ledger.Complete());
  EXPECT_EQ(SkipOf(ledger), "[0+1 0/1]");
}

TEST(SplitLedgerTest, SettlingARecordWholeSettlesItsParts) {
  SplitLedger ledger;
  ledger.Cover(MakeRun(5, 1, 0, 2));
  EXPECT_EQ(ledger.Cover(MakeRun(4, 3)), 3u);
  EXPECT_EQ(SkipOf(ledger), "[4+3 0/1]");
  EXPECT_EQ(ledger.Cover(MakeRun(5, 1, 1, 2)), 0u);
}

TEST(SplitLedgerTest, AnAbandonedSplitWaitsForWhatWasEmittedAlone) {
  SplitLedger ledger;
  google::protobuf::RepeatedPtrField<v1::Run> emitted;
  *emitted.Add() = MakeRun(0, 2);
  *emitted.Add() = MakeRun(7, 1, 1, 2);
  ledger.Abandon(emitted);
  ledger.Cover(MakeRun(0, 2));
  EXPECT_FALSE(ledger.Complete());
  ledger.Cover(MakeRun(7, 1, 1, 2));
  EXPECT_TRUE(ledger.Complete());
  ledger.Reopen();
  EXPECT_FALSE(ledger.Complete());
}

TEST(SplitLedgerTest, AbandonedWithNothingEmittedIsComplete) {
  SplitLedger ledger;
  ledger.Abandon({});
  EXPECT_TRUE(ledger.Complete());
}

}  // namespace
}  // namespace headrace::dispatch
