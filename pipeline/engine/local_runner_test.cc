#include "pipeline/engine/local_runner.h"

#include "common/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pipeline/engine/testing/engine_rig.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;
using testing_engine::MakeStep;

class LocalRunnerTest : public ::testing::Test {
 protected:
  LocalRunnerTest() {
    RegisterAll_ops(ops_);
    testing_engine::RegisterTestOps(ops_, std::make_shared<const testing_engine::TestHooks>());
    RegisterAll_formats(formats_);
    pipeline_.set_name("local");
    pipeline_.mutable_source()->set_format("range");
    SetParam("elements", 1000);
    SetParam("split_elements", 64);
    options_.compute_threads = 2;
  }
  void SetParam(const char* name, int64_t value) {
    v1::NamedValue* entry = pipeline_.mutable_source()->mutable_params()->add_entries();
    entry->set_name(name);
    *entry->mutable_value() = ToValue(value);
  }
  absl::StatusOr<LocalRunReport> Run() {
    return RunLocally(pipeline_, {&ops_, &formats_, NewLocalFileSystem()}, options_,
                      [this](Block block) {
                        for (const Cell& cell : block.column(0)) {
                          for (int64_t index : cell.as<int64_t>()) indices_.push_back(index);
                        }
                        return absl::OkStatus();
                      });
  }

  OpRegistry ops_;
  FormatRegistry formats_;
  v1::PipelineDef pipeline_;
  LocalRunOptions options_;
  std::vector<int64_t> indices_;
};

TEST_F(LocalRunnerTest, EveryRecordComesOnceInOrder) {
  *pipeline_.add_steps() = MakeStep("batch", {{"size", 48}});
  const absl::StatusOr<LocalRunReport> report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(indices_.size(), 1000u);
  for (size_t i = 0; i < indices_.size(); ++i) EXPECT_EQ(indices_[i], static_cast<int64_t>(i));
  EXPECT_EQ(report->splits, 16u);
  EXPECT_EQ(report->records, 1000u);
  EXPECT_EQ(report->rows, 21u);
  EXPECT_EQ(report->settled, 0u);
  ASSERT_EQ(report->stats.steps_size(), 2);
  EXPECT_EQ(report->stats.steps(0).step(), "0:read");
  EXPECT_EQ(report->stats.steps(1).step(), "1:batch");
  EXPECT_EQ(report->stats.steps(1).rows_in(), 1000u);
  EXPECT_EQ(report->stats.steps(1).rows_out(), 21u);
}

TEST_F(LocalRunnerTest, RepeatReadsTheSourceAgain) {
  *pipeline_.add_steps() = MakeStep("repeat", {{"count", 3}});
  const absl::StatusOr<LocalRunReport> report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(indices_.size(), 3000u);
  EXPECT_EQ(report->records, 3000u);
}

TEST_F(LocalRunnerTest, TakeEndsTheRunEarly) {
  *pipeline_.add_steps() = MakeStep("take", {{"count", 10}});
  const absl::StatusOr<LocalRunReport> report = Run();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(indices_, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(LocalRunnerTest, FailuresOverTheBudgetEndTheRunWithTheFirstOne) {
  *pipeline_.add_steps() = MakeStep("fail_some", {{"every", 2}});
  pipeline_.mutable_errors()->set_on_error(v1::ON_ERROR_SKIP);
  pipeline_.mutable_errors()->set_max_errors(3);
  const absl::Status status = Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("step 1 'fail_some'"));
}

TEST_F(LocalRunnerTest, TheCallersErrorEndsTheRun) {
  const absl::Status status =
      RunLocally(pipeline_, {&ops_, &formats_, NewLocalFileSystem()}, options_, [](Block) {
        return Aborted("enough");
      }).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace headrace
