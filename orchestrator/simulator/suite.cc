#include "orchestrator/simulator/suite.h"

#include <utility>

#include "common/nearest.h"
#include "common/status.h"

namespace headrace::orchestrate {

ReportRow AtLeast(std::string name, double value, std::string unit, Baseline baseline,
                  std::optional<double> target) {
  ReportRow row;
  row.name = std::move(name);
  row.value = value;
  row.unit = std::move(unit);
  if (baseline.value != 0) row.ratio = value / baseline.value;
  row.baseline = std::move(baseline);
  row.target = target;
  return row;
}

ReportRow AtMost(std::string name, double value, std::string unit, Baseline baseline,
                 std::optional<double> target) {
  const double held_against = baseline.value;
  ReportRow row =
      AtLeast(std::move(name), value, std::move(unit), std::move(baseline), std::move(target));
  row.ratio.reset();
  if (value != 0) row.ratio = held_against / value;
  // Nothing next to something is as good as it gets.
  if (value == 0 && held_against != 0) row.ratio = 1e9;
  return row;
}

ReportRow Figure(std::string name, double value, std::string unit, std::optional<double> target) {
  ReportRow row;
  row.name = std::move(name);
  row.value = value;
  row.unit = std::move(unit);
  row.target = target;
  return row;
}

absl::StatusOr<const Suite*> SuiteRegistry::Find(std::string_view name) const {
  std::vector<std::string> names;
  for (const std::unique_ptr<Suite>& suite : suites_) {
    if (suite->name() == name) return suite.get();
    names.emplace_back(suite->name());
  }
  const std::string nearest = NearestWord(name, names);
  return NotFound("no suite '{}'{}; `headrace simulate --list` shows them", name,
                  nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

absl::StatusOr<Report> RunSuite(const Suite& suite, const SimulateOptions& options) {
  absl::StatusOr<Report> report = suite.Run(options);
  if (!report.ok()) return Annotate(report.status(), fmt::format("suite {}", suite.name()));
  for (ReportRow& row : report->rows) {
    row.suite = suite.name();
    if (!row.target.has_value() || (row.baseline.has_value() && !row.ratio.has_value())) continue;
    row.pass = (row.baseline.has_value() ? *row.ratio : row.value) >= *row.target;
  }
  return report;
}

}  // namespace headrace::orchestrate
