// headrace simulate --suite NAME: the orchestrator's policies on made-up clusters, next to the
// rules that they are measured against.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/table.h"
#include "common/status.h"
#include "orchestrator/simulator/suite.h"

namespace headrace {
namespace {

using orchestrate::Report;
using orchestrate::ReportRow;
using orchestrate::Series;

template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value.has_value() ? nlohmann::json(*value) : nlohmann::json();
}

// As bench/run writes them.
nlohmann::json RowJson(const ReportRow& row) {
  nlohmann::json baseline;
  if (row.baseline) baseline = {{"name", row.baseline->name}, {"value", row.baseline->value}};
  return {{"suite", row.suite},
          {"name", row.name},
          {"value", row.value},
          {"unit", row.unit},
          {"baseline", baseline},
          {"ratio", OrNull(row.ratio)},
          {"target", OrNull(row.target)},
          {"pass", OrNull(row.pass)},
          {"note", row.note}};
}

nlohmann::json SeriesJson(const Series& series) {
  return {{"plot", series.plot}, {"name", series.name}, {"x", series.x},
          {"y", series.y},       {"xs", series.xs},     {"ys", series.ys}};
}

std::string Verdict(const ReportRow& row) {
  if (!row.pass.has_value()) return "";
  return *row.pass ? "ok" : "FALLS SHORT";
}

class Simulate final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("--suite", suites_, "which; several joined by commas")->delimiter(',');
    app.add_flag("--list", list_, "say which suites there are, and end");
    app.add_option("--traces", options_.traces, "made-up clusters, each of a seed of its own")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    app.add_option("--seed", options_.seed, "of the first")->capture_default_str();
    app.add_flag("--quick", options_.quick, "few and short: to see that it works, not to quote");
    app.add_option("--trace", options_.trace_file,
                   "a recorded cluster (`headrace run --record-trace`) instead of made-up ones; "
                   "suite scaling");
    app.add_option("--json", json_, "write rows and plots to this file");
    app.add_flag("--check", check_, "fail when a figure falls short of its target");
  }

  absl::Status Run() override {
    orchestrate::SuiteRegistry registry;
    orchestrate::RegisterAll_simulator_suites(registry);
    if (list_) {
      Table table({"suite", "what it shows"});
      for (const auto& suite : registry.all())
        table.Add({std::string(suite->name()), std::string(suite->help())});
      std::fputs(table.ToString().c_str(), stdout);
      return absl::OkStatus();
    }
    if (suites_.empty() && !options_.trace_file.empty()) suites_ = {"scaling"};
    if (suites_.empty()) return UsageError("--suite is missing; --list shows them");
    std::vector<const orchestrate::Suite*> wanted;
    for (const std::string& name : suites_) {
      HR_ASSIGN_OR_RETURN(const orchestrate::Suite* suite, registry.Find(name));
      wanted.push_back(suite);
    }
    Report all;
    for (const orchestrate::Suite* suite : wanted) {
      HR_ASSIGN_OR_RETURN(Report report, orchestrate::RunSuite(*suite, options_));
      all.rows.insert(all.rows.end(), report.rows.begin(), report.rows.end());
      all.plots.insert(all.plots.end(), report.plots.begin(), report.plots.end());
    }
    Print(all);
    HR_RETURN_IF_ERROR(Write(all));
    return Check(all);
  }

 private:
  static void Print(const Report& report) {
    Table table({"suite", "figure", "value", "against", "", "ratio", "at least", ""});
    for (const ReportRow& row : report.rows) {
      table.Add({row.suite, row.name, fmt::format("{:.4g} {}", row.value, row.unit),
                 row.baseline ? row.baseline->name : "",
                 row.baseline ? fmt::format("{:.4g}", row.baseline->value) : "",
                 row.ratio ? fmt::format("{:.3g}", *row.ratio) : "",
                 row.target ? fmt::format("{:g}", *row.target) : "", Verdict(row)});
    }
    std::fputs(table.ToString().c_str(), stdout);
  }

  absl::Status Write(const Report& report) const {
    if (json_.empty()) return absl::OkStatus();
    nlohmann::json rows = nlohmann::json::array();
    nlohmann::json plots = nlohmann::json::array();
    for (const ReportRow& row : report.rows) rows.push_back(RowJson(row));
    for (const Series& series : report.plots) plots.push_back(SeriesJson(series));
    const nlohmann::json about = {
        {"seed", options_.seed}, {"traces", options_.traces}, {"quick", options_.quick}};
    std::ofstream file(json_);
    file << nlohmann::json({{"about", about}, {"results", rows}, {"plots", plots}}).dump(2) << "\n";
    file.close();
    if (!file) return Unavailable("write {}: it cannot be written", json_);
    return absl::OkStatus();
  }

  absl::Status Check(const Report& report) const {
    if (!check_) return absl::OkStatus();
    size_t short_of = 0;
    for (const ReportRow& row : report.rows) short_of += row.pass == false;
    if (short_of == 0) return absl::OkStatus();
    return FailedPrecondition("{} of {} figures fall short of their target", short_of,
                              report.rows.size());
  }

  std::vector<std::string> suites_;
  orchestrate::SimulateOptions options_;
  bool list_ = false;
  bool check_ = false;
  std::string json_;
};

}  // namespace

void Register_simulate(CommandList& commands) {
  commands.Add<Simulate>("simulate", "The orchestrator's policies on made-up clusters");
}

}  // namespace headrace
