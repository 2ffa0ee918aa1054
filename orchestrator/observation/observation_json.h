// An observation as one line of JSON, and back: what `headrace run --record-trace` writes. Fields
// have their names; one that is nullopt, zero or empty is left out. A field that is not known is
// passed over, so that later recordings can be read. Caches' tiers are not written.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "orchestrator/observation/observation.h"

namespace headrace::orchestrate {

std::string ToJsonLine(const Observation& observation);  // without a newline
// INVALID_ARGUMENT: no JSON, a field of another kind, or a number that cannot be.
absl::StatusOr<Observation> ObservationFromJson(std::string_view line);

}  // namespace headrace::orchestrate
