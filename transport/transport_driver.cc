#include "transport/transport_driver.h"

#include <utility>

#include "common/nearest.h"
#include "common/status.h"
#include "fmt/ranges.h"

namespace headrace {

void TransportRegistry::Add(std::unique_ptr<TransportDriver> driver) {
  drivers_.push_back(std::move(driver));
}

const TransportDriver* TransportRegistry::Find(std::string_view name) const {
  for (const auto& driver : drivers_) {
    if (driver->name() == name) return driver.get();
  }
  return nullptr;
}

std::vector<std::string> TransportRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& driver : drivers_) names.emplace_back(driver->name());
  return names;
}

absl::Status TransportRegistry::Check(std::string_view name) const {
  if (Find(name) != nullptr) return absl::OkStatus();
  const std::vector<std::string> known = names();
  const std::string nearest = NearestWord(name, known);
  return InvalidArgument("no transport '{}': {}", name,
                         nearest.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                                         : fmt::format("did you mean '{}'?", nearest));
}

}  // namespace headrace
