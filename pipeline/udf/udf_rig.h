// For tests and benchmarks: a pool over modules that a test writes, and blocks put through it. No
// binary of ours links this.
#pragma once

#include <stdlib.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "common/status.h"
#include "gtest/gtest.h"
#include "pipeline/udf/function_pool.h"
#include "pipeline/udf/job.h"

namespace headrace::udf {

// A directory of modules, gone at the end.
class Modules {
 public:
  Modules() {
    char name[] = "/tmp/headrace-udf-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Modules() { [[maybe_unused]] const int rc = ::system(("rm -rf " + path_).c_str()); }
  void Write(const std::string& module, const std::string& text) {
    std::ofstream(path_ + "/" + module + ".py") << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline FunctionPoolOptions Options(const Modules& modules) {
  FunctionPoolOptions options;
  options.mode = FunctionMode::kImport;
  options.python = HEADRACE_TEST_PYTHON;
  options.path = {modules.path()};
  options.processes = 1;
  return options;
}

// A bound function and a session of it.
class Bound {
 public:
  Bound(FunctionPool& pool, FunctionSpec spec, Schema input, std::vector<std::string> fields = {},
        StepContext context = {})
      : input_(std::make_shared<const Schema>(std::move(input))) {
    absl::StatusOr<ColumnPlan> plan = ColumnPlan::Make(*input_, fields, spec);
    EXPECT_TRUE(plan.ok()) << plan.status();
    plan_ = std::make_shared<const ColumnPlan>(*std::move(plan));
    auto session = pool.Open(spec, plan_, context);
    open_ = session.status();
    if (session.ok()) session_ = *std::move(session);
  }
  ~Bound() {
    if (session_) session_->Stop();
  }

  const SchemaPtr& input() const { return input_; }
  const SchemaPtr& output() const { return plan_->schema; }
  const absl::Status& open() const { return open_; }
  AsyncSession& session() { return *session_; }

  // What becomes of the block; DEADLINE_EXCEEDED after a minute.
  absl::StatusOr<Block> Run(Block block) {
    auto result = std::make_shared<absl::StatusOr<AsyncResult>>(Cancelled("no answer"));
    auto done = std::make_shared<absl::Notification>();
    session_->Start(std::move(block), [result, done](absl::StatusOr<AsyncResult> r) {
      *result = std::move(r);
      done->Notify();
    });
    if (!done->WaitForNotificationWithTimeout(absl::Minutes(1))) {
      session_->Stop();
      return DeadlineExceeded("no answer within a minute");
    }
    if (!result->ok()) return result->status();
    Block out = std::move((*result)->block);
    out.Compact();
    out.SetSchema(plan_->schema);
    return out;
  }

 private:
  SchemaPtr input_;
  std::shared_ptr<const ColumnPlan> plan_;
  absl::Status open_;
  std::unique_ptr<AsyncSession> session_;
};

// A block of int64 scalars in the one field of `schema`.
inline Block Numbers(const SchemaPtr& schema, const std::vector<int64_t>& values) {
  Block block(schema);
  for (size_t i = 0; i < values.size(); ++i) {
    const Cell cell = MakeScalarCell<int64_t>(block.arena(), values[i]);
    block.AppendRow({RunOf({.split = 1, .index = i})}, std::span(&cell, 1));
  }
  return block;
}
inline std::vector<int64_t> Values(const Block& block, size_t field = 0) {
  std::vector<int64_t> out;
  for (const Cell& cell : block.column(field)) {
    for (const int64_t v : cell.as<int64_t>()) out.push_back(v);
  }
  return out;
}

}  // namespace headrace::udf
