#include "pipeline/graph/op_registry.h"

#include <cassert>

#include "common/nearest.h"
#include "common/status.h"

namespace headrace {

OpSpec& OpRegistry::Insert(OpSpec spec) {
  const std::string name = spec.name;
  auto [it, inserted] = ops_.emplace(name, std::move(spec));
  assert(inserted && "two steps with one name");
  (void)inserted;
  return it->second;
}

absl::StatusOr<const OpSpec*> OpRegistry::Find(std::string_view name) const {
  if (auto it = ops_.find(name); it != ops_.end()) return &it->second;
  std::vector<std::string> names;
  for (const auto& [known, spec] : ops_) names.push_back(known);
  const std::string nearest = NearestWord(name, names);
  return InvalidArgument("unknown step '{}'{}", name,
                         nearest.empty() ? "; `headrace steps` lists the known ones"
                                         : fmt::format("; did you mean '{}'?", nearest));
}

std::vector<const OpSpec*> OpRegistry::All() const {
  std::vector<const OpSpec*> out;
  for (const auto& [name, spec] : ops_) out.push_back(&spec);
  return out;
}

}  // namespace headrace
