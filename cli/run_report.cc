#include "cli/run_report.h"

#include <nlohmann/json.hpp>

#include "cli/proto_json.h"
#include "cli/table.h"
#include "fmt/core.h"

namespace headrace {
namespace {

double PerSecond(double n, double seconds) { return seconds > 0 ? n / seconds : 0; }

}  // namespace

std::string RunText(const RunReport& report) {
  Table epochs({"epoch", "records", "seconds", "records/s", "MB/s", "trainer waited", "failed"});
  for (const EpochReport& e : report.epochs) {
    epochs.Add({std::to_string(e.epoch), std::to_string(e.records),
                fmt::format("{:.2f}", e.seconds),
                fmt::format("{:.0f}", PerSecond(static_cast<double>(e.records), e.seconds)),
                fmt::format("{:.1f}", PerSecond(static_cast<double>(e.bytes), e.seconds) / 1e6),
                fmt::format("{:.0f}%", 100 * PerSecond(e.wait_seconds, e.seconds)),
                std::to_string(e.failed)});
  }
  std::string out = epochs.ToString();
  for (const EpochReport& e : report.epochs) {
    for (const v1::FailureSample& sample : e.failures) {
      out += fmt::format("failed at {}: {}\n", sample.step(), sample.message());
    }
  }
  double total = 0;
  for (const v1::StepStats& step : report.steps) total += step.cpu_seconds();
  if (report.steps.empty() || total <= 0) return out;
  out += fmt::format("\nwhere the CPU time went, over {} workers:\n", report.workers);
  Table steps({"step", "cpu s", "share", "us/row", "rows out", "bytes out"});
  for (const v1::StepStats& step : report.steps) {
    const double rows = std::max<double>(
        1, static_cast<double>(step.rows_in() + (step.rows_in() == 0 ? step.rows_out() : 0)));
    steps.Add({step.step(), fmt::format("{:.2f}", step.cpu_seconds()),
               fmt::format("{:.0f}%", 100 * step.cpu_seconds() / total),
               fmt::format("{:.1f}", 1e6 * step.cpu_seconds() / rows),
               std::to_string(step.rows_out()), Bytes(static_cast<double>(step.bytes_out()))});
  }
  return out + steps.ToString();
}

std::string RunJson(const RunReport& report) {
  nlohmann::ordered_json out = {
      {"pipeline", report.pipeline}, {"job", report.job}, {"workers", report.workers}};
  out["epochs"] = nlohmann::ordered_json::array();
  for (const EpochReport& e : report.epochs) {
    nlohmann::ordered_json epoch = {
        {"epoch", e.epoch},
        {"elements", e.elements},
        {"records", e.records},
        {"bytes", e.bytes},
        {"seconds", e.seconds},
        {"records_per_second", PerSecond(static_cast<double>(e.records), e.seconds)},
        {"bytes_per_second", PerSecond(static_cast<double>(e.bytes), e.seconds)},
        {"wait_seconds", e.wait_seconds},
        {"settled", e.settled},
        {"failed", e.failed}};
    epoch["failures"] = nlohmann::ordered_json::array();
    for (const v1::FailureSample& sample : e.failures)
      epoch["failures"].push_back(nlohmann::ordered_json(ToJson(sample)));
    out["epochs"].push_back(std::move(epoch));
  }
  out["steps"] = nlohmann::ordered_json::array();
  for (const v1::StepStats& step : report.steps)
    out["steps"].push_back(nlohmann::ordered_json(ToJson(step)));
  return out.dump();
}

}  // namespace headrace
