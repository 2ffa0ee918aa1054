// A suite of `headrace simulate`: runs policies on made-up or recorded clusters, next to the rules
// that they are measured against, and reports figures in the form that bench/run has: each a value,
// what it is held against, the ratio, and what the ratio must reach.
//
// A suite is one file of orchestrator/simulator/suites/: it defines Register_<file name>. Suites
// are made once, run by one thread, and keep nothing between runs: the same options give the same
// report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace headrace::orchestrate {

struct SimulateOptions {
  uint64_t seed = 1;
  size_t traces = 100;          // made-up clusters, each of a seed of its own
  bool quick = false;           // few and short: to see that it works, not to quote
  std::string trace_file = {};  // a recorded one instead; empty: made up
};

struct Baseline {
  std::string name = {};  // "Cachew's rule"
  double value = 0;
};

struct ReportRow {
  std::string suite = {};  // filled in by RunSuite
  std::string name = {};
  double value = 0;
  std::string unit = {};
  std::optional<Baseline> baseline = {};
  std::optional<double> ratio = {};   // larger is better; AtLeast and AtMost make it
  std::optional<double> target = {};  // the least that `ratio` (without one: `value`) may be
  std::optional<bool> pass = {};      // filled in by RunSuite
  std::string note = {};              // what it was measured on, or why it falls short
};

// Rows whose figure is judged: larger is better by value / baseline, smaller by baseline / value.
ReportRow AtLeast(std::string name, double value, std::string unit, Baseline baseline,
                  std::optional<double> target = std::nullopt);
ReportRow AtMost(std::string name, double value, std::string unit, Baseline baseline,
                 std::optional<double> target = std::nullopt);
// `value` itself must be at least `target`.
ReportRow Figure(std::string name, double value, std::string unit,
                 std::optional<double> target = std::nullopt);

// A line of a plot. All series of one plot share its axes.
struct Series {
  std::string plot = {};  // "trace 3: workers"
  std::string name = {};  // "ours"
  std::string x = {};     // what the axis says, with its unit: "seconds"
  std::string y = {};
  std::vector<double> xs = {};
  std::vector<double> ys = {};
};

struct Report {
  std::vector<ReportRow> rows = {};
  std::vector<Series> plots = {};
};

class Suite {
 public:
  virtual ~Suite() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view help() const = 0;  // one line
  virtual absl::StatusOr<Report> Run(const SimulateOptions& options) const = 0;
};

class SuiteRegistry {
 public:
  void Add(std::unique_ptr<Suite> suite) { suites_.push_back(std::move(suite)); }
  // NOT_FOUND names the nearest.
  absl::StatusOr<const Suite*> Find(std::string_view name) const;
  const std::vector<std::unique_ptr<Suite>>& all() const { return suites_; }

 private:
  std::vector<std::unique_ptr<Suite>> suites_;
};

// Every suite of orchestrator/simulator/suites/ (generated).
void RegisterAll_simulator_suites(SuiteRegistry& registry);

// Runs it, and fills in what the rows leave to their frame.
absl::StatusOr<Report> RunSuite(const Suite& suite, const SimulateOptions& options);

}  // namespace headrace::orchestrate
