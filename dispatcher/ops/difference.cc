#include "dispatcher/ops/difference.h"

#include <algorithm>
#include <map>

#include "dispatcher/ops/claim.h"
#include "dispatcher/sharding/policy.h"
#include "dispatcher/state/job.h"
#include "fmt/format.h"

namespace headrace::dispatch {
namespace {

std::string Show(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean:
      return value.boolean() ? "true" : "false";
    case v1::Value::kInteger:
      return fmt::format("{}", value.integer());
    case v1::Value::kNumber:
      return fmt::format("{}", value.number());
    case v1::Value::kText:
      return fmt::format("'{}'", value.text());
    case v1::Value::kList:
    case v1::Value::kMap:
      return value.ShortDebugString();
    default:
      return "null";
  }
}

std::string ParamsDifference(const v1::ValueMap& here, const v1::ValueMap& there,
                             const DifferenceWords& words) {
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const v1::NamedValue& entry : here.entries()) both[entry.name()].first = Show(entry.value());
  for (const v1::NamedValue& entry : there.entries()) {
    both[entry.name()].second = Show(entry.value());
  }
  for (const auto& [name, values] : both) {
    if (values.first == values.second) continue;
    const auto said = [](const std::string& value) { return value.empty() ? "not set" : value; };
    return fmt::format("{} is {} {}, {} {}", name, said(values.first), words.here,
                       said(values.second), words.there);
  }
  return "";
}

}  // namespace

std::string PipelineDifference(const v1::PipelineDef& here, const v1::PipelineDef& there,
                               const DifferenceWords& words) {
  if (here.source().format() != there.source().format()) {
    return fmt::format("the source's format is '{}' {}, '{}' {}", here.source().format(),
                       words.here, there.source().format(), words.there);
  }
  if (!std::ranges::equal(here.source().files(), there.source().files())) {
    return "the source's files differ";
  }
  if (auto params = ParamsDifference(here.source().params(), there.source().params(), words);
      !params.empty()) {
    return fmt::format("source: {}", params);
  }
  for (int i = 0; i < std::min(here.steps_size(), there.steps_size()); ++i) {
    if (here.steps(i).op() != there.steps(i).op()) {
      return fmt::format("step {} is '{}' {}, '{}' {}", i + 1, here.steps(i).op(), words.here,
                         there.steps(i).op(), words.there);
    }
    auto params = ParamsDifference(here.steps(i).params(), there.steps(i).params(), words);
    if (!params.empty()) return fmt::format("step {} '{}': {}", i + 1, here.steps(i).op(), params);
  }
  if (here.steps_size() != there.steps_size()) {
    return fmt::format("{} steps {}, {} {}", here.steps_size(), words.here, there.steps_size(),
                       words.there);
  }
  if (here.seed() != there.seed()) {
    return fmt::format("seed is {} {}, {} {}", here.seed(), words.here, there.seed(), words.there);
  }
  return "";
}

std::string OptionsDifference(const v1::JobOptions& here, const v1::JobOptions& there) {
  if (ShardingName(here.sharding()) != ShardingName(there.sharding())) {
    return fmt::format("sharding is {} here, {} there", ShardingName(here.sharding()),
                       ShardingName(there.sharding()));
  }
  const auto visitation = [](const v1::JobOptions& o) {
    return std::max<int>(o.visitation(), v1::VISITATION_EXACTLY_ONCE);
  };
  if (visitation(here) != visitation(there)) return "visitation differs";
  const auto loss = [](const v1::JobOptions& o) {
    Job job;
    job.options = o;
    return job.WaitsForLostClients() ? "wait" : "reassign";
  };
  if (std::string_view(loss(here)) != loss(there)) {
    return fmt::format("on_client_loss is {} here, {} there", loss(here), loss(there));
  }
  const auto uneven = [](const v1::JobOptions& o) {
    return std::max<int>(o.uneven(), v1::UNEVEN_FREE);
  };
  if (uneven(here) != uneven(there)) return "uneven differs";
  if (here.static_slots() != there.static_slots()) {
    return fmt::format("static_slots is {} here, {} there", here.static_slots(),
                       there.static_slots());
  }
  const auto ordering = [](const v1::JobOptions& o) {
    return o.ordering() == v1::ORDERING_DETERMINISTIC ? "deterministic" : "free";
  };
  if (std::string_view(ordering(here)) != ordering(there)) {
    return fmt::format("ordering is {} here, {} there", ordering(here), ordering(there));
  }
  if (here.ordered_lanes() != there.ordered_lanes()) {
    return fmt::format("ordered_lanes is {} here, {} there", here.ordered_lanes(),
                       there.ordered_lanes());
  }
  if (here.ordered_window_bytes() != there.ordered_window_bytes()) {
    return fmt::format("ordered_window_bytes is {} here, {} there", here.ordered_window_bytes(),
                       there.ordered_window_bytes());
  }
  if (WeightOf(here) != WeightOf(there)) {
    return fmt::format("weight is {} here, {} there", WeightOf(here), WeightOf(there));
  }
  if (here.priority() != there.priority()) {
    return fmt::format("priority is {} here, {} there", here.priority(), there.priority());
  }
  if (here.least_workers() != there.least_workers()) {
    return fmt::format("least_workers is {} here, {} there", here.least_workers(),
                       there.least_workers());
  }
  if (here.most_workers() != there.most_workers()) {
    return fmt::format("most_workers is {} here, {} there", here.most_workers(),
                       there.most_workers());
  }
  if (here.target_split_bytes() != there.target_split_bytes()) {
    return fmt::format("target_split_bytes is {} here, {} there", here.target_split_bytes(),
                       there.target_split_bytes());
  }
  return "";
}

}  // namespace headrace::dispatch
