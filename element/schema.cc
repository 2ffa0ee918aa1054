#include "element/schema.h"

#include "common/nearest.h"
#include "common/status.h"

namespace headrace {

size_t Schema::Find(std::string_view name) const {
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].name == name) return i;
  }
  return kNone;
}

absl::StatusOr<size_t> Schema::Require(std::string_view name) const {
  if (const size_t i = Find(name); i != kNone) return i;
  std::vector<std::string> names;
  std::string list;
  for (const Field& f : fields_) {
    list += (names.empty() ? "" : ", ") + f.name;
    names.push_back(f.name);
  }
  const std::string nearest = NearestWord(name, names);
  return InvalidArgument("no field '{}'{} (fields: {})", name,
                         nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest), list);
}

std::string Schema::ToString() const {
  std::string out = "{";
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Field& f = fields_[i];
    out += fmt::format("{}{}: {} {}", i > 0 ? ", " : "", f.name, Name(f.dtype), f.shape.ToString());
  }
  return out + "}";
}

}  // namespace headrace
