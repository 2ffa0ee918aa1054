#include "orchestrator/observation/observation_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/status.h"

namespace headrace::orchestrate {
namespace {

using nlohmann::json;

// Each kind of record names its fields once, for both directions.
template <typename Fields>
void EachField(Fields& f, StepObservation& step) {
  f("step", step.step);
  f("cpu_seconds", step.cpu_seconds);
  f("rows_in", step.rows_in);
  f("rows_out", step.rows_out);
  f("bytes_in", step.bytes_in);
  f("bytes_out", step.bytes_out);
  f("blocks", step.blocks);
  f("cpu_square", step.cpu_square);
  f("wall_seconds", step.wall_seconds);
}

template <typename Fields>
void EachField(Fields& f, TierObservation& tier) {
  f("worker", tier.worker);
  f("tier", tier.tier);
  f("capacity_bytes", tier.capacity_bytes);
  f("used_bytes", tier.used_bytes);
  f("hits", tier.hits);
  f("read_bytes", tier.read_bytes);
  f("read_seconds", tier.read_seconds);
  f("fills", tier.fills);
  f("filled_bytes", tier.filled_bytes);
  f("fill_seconds", tier.fill_seconds);
}

template <typename Fields>
void EachField(Fields& f, JobObservation& job) {
  f("job", job.job);
  f("name", job.name);
  f("weight", job.weight);
  f("priority", job.priority);
  f("min_workers", job.min_workers);
  f("max_workers", job.max_workers);
  f("clients", job.clients);
  f("connected", job.connected);
  f("waits_for_workers", job.waits_for_workers);
  f("elements_per_second", job.elements_per_second);
  f("demand", job.demand);
  f("stall", job.stall);
  f("fetch_stall", job.fetch_stall);
  f("prepare_stall", job.prepare_stall);
  f("queue_fill", job.queue_fill);
  f("bytes_per_element", job.bytes_per_element);
  f("epoch_progress", job.epoch_progress);
  f("epoch", job.epoch);
  f("records", job.records);
  f("records_done", job.records_done);
  f("epoch_records", job.epoch_records);
  f("busy_seconds", job.busy_seconds);
  f("cpu_seconds", job.cpu_seconds);
  f("steps", job.steps);
}

template <typename Fields>
void EachField(Fields& f, WorkerObservation& worker) {
  f("worker", worker.worker);
  f("address", worker.address);
  f("host", worker.host);
  f("tags", worker.tags);
  bool draining = worker.condition == WorkerCondition::kDraining;
  f("draining", draining);
  worker.condition = draining ? WorkerCondition::kDraining : WorkerCondition::kReady;
  f("cores", worker.cores);
  f("busy", worker.busy);
  f("cpu_seconds", worker.cpu_seconds);
  f("tasks", worker.tasks);
  f("bytes_per_second", worker.bytes_per_second);
}

template <typename Fields>
void EachField(Fields& f, Observation& seen) {
  f("at_seconds", seen.at_seconds);
  f("window_seconds", seen.window_seconds);
  f("workers_wanted", seen.workers_wanted);
  f("workers_lost", seen.workers_lost);
  f("jobs", seen.jobs);
  f("workers", seen.workers);
  f("tiers", seen.tiers);
}

struct Writer {
  json out = json::object();

  template <typename T>
  void operator()(const char* name, T& value) {
    if (value != T()) out[name] = value;
  }
  void operator()(const char* name, std::optional<double>& value) {
    if (value.has_value()) out[name] = *value;
  }
  template <typename Record>
    requires requires(Record& record, Writer& f) { EachField(f, record); }
  void operator()(const char* name, std::vector<Record>& records) {
    for (Record& record : records) {
      Writer one;
      EachField(one, record);
      out[name].push_back(std::move(one.out));
    }
  }
  void operator()(const char* name, std::vector<std::string>& words) {
    if (!words.empty()) out[name] = words;
  }
};

// Throws json::exception.
struct Reader {
  const json& in;

  template <typename T>
  void operator()(const char* name, T& value) {
    value = in.contains(name) ? in.at(name).get<T>() : T();
  }
  void operator()(const char* name, std::optional<double>& value) {
    if (in.contains(name)) value = in.at(name).get<double>();
  }
  template <typename Record>
    requires requires(Record& record, Reader& f) { EachField(f, record); }
  void operator()(const char* name, std::vector<Record>& records) {
    if (!in.contains(name)) return;
    for (const json& one : in.at(name)) {
      one.get_ref<const json::object_t&>();  // throws where it is none
      Reader reader{one};
      EachField(reader, records.emplace_back());
    }
  }
};

}  // namespace

std::string ToJsonLine(const Observation& observation) {
  Observation copy = observation;  // the fields are named for both directions
  Writer writer;
  EachField(writer, copy);
  return writer.out.dump();
}

absl::StatusOr<Observation> ObservationFromJson(std::string_view line) {
  const json parsed = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return InvalidArgument("it is no JSON object");
  Observation seen;
  try {
    Reader reader{parsed};
    EachField(reader, seen);
  } catch (const json::exception& error) {
    return InvalidArgument("{}", error.what());
  }
  if (!(seen.window_seconds > 0) || !std::isfinite(seen.at_seconds))
    return InvalidArgument("window_seconds must be above 0, and at_seconds is needed");
  return seen;
}

}  // namespace headrace::orchestrate
