#include "worker/report_log.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

v1::SplitReport Report(uint64_t task, uint64_t split) {
  v1::SplitReport report;
  report.set_task(task);
  report.set_split(split);
  return report;
}

v1::WorkerBeatRequest Beat(ReportLog& log, size_t max_splits = 4096) {
  v1::WorkerBeatRequest request;
  log.Fill(request, max_splits);
  return request;
}

TEST(ReportLogTest, AReportGoesOutWithEveryBeatUntilItIsAcknowledged) {
  ReportLog log;
  log.Add(Report(1, 10));
  const auto first = Beat(log);
  EXPECT_EQ(first.splits_size(), 1);
  EXPECT_EQ(first.report_number(), 1u);
  const auto again = Beat(log);
  EXPECT_EQ(again.splits_size(), 1);
  EXPECT_EQ(again.report_number(), 1u) << "nothing new, same number";
  log.Acknowledge(1);
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(Beat(log).splits_size(), 0);
}

TEST(ReportLogTest, ALateAcknowledgementDoesNotEatNewerReports) {
  ReportLog log;
  log.Add(Report(1, 10));
  Beat(log);
  log.Add(Report(1, 11));
  EXPECT_EQ(Beat(log).report_number(), 2u);
  log.Acknowledge(1);
  log.Acknowledge(1);
  const auto beat = Beat(log);
  ASSERT_EQ(beat.splits_size(), 1);
  EXPECT_EQ(beat.splits(0).split(), 11u);
}

TEST(ReportLogTest, AReportThatDidNotFitIsNotAcknowledged) {
  ReportLog log;
  for (uint64_t i = 0; i < 5; ++i) log.Add(Report(1, i));
  EXPECT_EQ(Beat(log, 3).splits_size(), 3);
  log.Acknowledge(1);
  const auto rest = Beat(log, 3);
  ASSERT_EQ(rest.splits_size(), 2);
  EXPECT_EQ(rest.splits(0).split(), 3u);
}

TEST(ReportLogTest, DroppingATaskKeepsTheOthers) {
  ReportLog log;
  log.Add(Report(1, 1));
  log.Add(Report(2, 2));
  v1::TaskError error;
  error.set_task(1);
  log.Add(error);
  log.Drop(1);
  const auto beat = Beat(log);
  ASSERT_EQ(beat.splits_size(), 1);
  EXPECT_EQ(beat.splits(0).task(), 2u);
  EXPECT_EQ(beat.errors_size(), 0);
}

}  // namespace
}  // namespace headrace
