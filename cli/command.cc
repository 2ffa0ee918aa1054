#include "cli/command.h"

#include "absl/strings/cord.h"

namespace headrace {
namespace {

constexpr char kUsage[] = "headrace/usage";

}  // namespace

absl::Status UsageError(std::string message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsage, absl::Cord("1"));
  return status;
}

bool IsUsageError(const absl::Status& status) { return status.GetPayload(kUsage).has_value(); }

}  // namespace headrace
