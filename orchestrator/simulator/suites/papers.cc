// The policies of caches next to the systems that they come from: placement (Cachew), capacity
// (Fluid), sharing (CoorDL, Quiver), tiering (Tectonic-Shift). `papers` runs all four; each is a
// suite of its own too.
#include <functional>
#include <utility>

#include "orchestrator/simulator/caching/policy_series.h"
#include "orchestrator/simulator/suite.h"

namespace headrace::orchestrate {
namespace {

using MakeFigures = std::function<std::vector<PolicyFigure>(const FigureEffort&)>;
using MakeSeries = std::function<std::vector<Series>(const FigureEffort&)>;

ReportRow RowOf(const PolicyFigure& figure) {
  std::string name = figure.suite + ": " + figure.name;
  ReportRow row;
  if (!figure.target.has_value() || figure.at_least) {
    row = Figure(std::move(name), figure.value, figure.unit, figure.target);
  } else {
    row = AtMost(std::move(name), figure.value, figure.unit, {"at most", *figure.target}, 1);
  }
  row.note = figure.note;
  return row;
}

class Papers final : public Suite {
 public:
  struct Part {
    MakeFigures figures;
    MakeSeries series;
  };
  Papers(std::string name, std::string help, std::vector<Part> parts)
      : name_(std::move(name)), help_(std::move(help)), parts_(std::move(parts)) {}

  std::string_view name() const override { return name_; }
  std::string_view help() const override { return help_; }
  absl::StatusOr<Report> Run(const SimulateOptions& options) const override {
    if (!options.trace_file.empty()) {
      return absl::InvalidArgumentError("it runs on made-up clusters alone: leave --trace out");
    }
    const FigureEffort effort{options.quick ? 0.1 : 1.0, 1000 * options.seed};
    Report report;
    for (const Part& part : parts_) {
      for (const PolicyFigure& figure : part.figures(effort)) report.rows.push_back(RowOf(figure));
      if (!part.series) continue;
      for (Series& series : part.series(effort)) report.plots.push_back(std::move(series));
    }
    return report;
  }

 private:
  std::string name_, help_;
  std::vector<Part> parts_;
};

}  // namespace

void Register_papers(SuiteRegistry& registry) {
  const Papers::Part placement{PlacementFigures, PlacementSeries},
      capacity{CapacityFigures, CapacitySeries}, sharing{SharingFigures, nullptr},
      tiering{TieringFigures, nullptr};
  const auto add = [&](std::string name, std::string help, std::vector<Papers::Part> parts) {
    registry.Add(std::make_unique<Papers>(std::move(name), std::move(help), std::move(parts)));
  };
  add("papers", "the policies of caches next to the systems that they come from",
      {placement, capacity, sharing, tiering});
  add("placement", "where caches go, next to brute force and Cachew's rule", {placement});
  add("capacity", "how big a cache is, item by item, next to Fluid's families", {capacity});
  add("sharing", "eight jobs with churn, next to LRU, equal split, CoorDL and Quiver", {sharing});
  add("tiering", "a flash tier on a Shift-like trace, next to LRU", {tiering});
}

}  // namespace headrace::orchestrate
