#include "rpc/leader_redirect.h"

#include "absl/strings/cord.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr char kPayload[] = "headrace.dev/leader";

void Name(std::string_view leader, absl::Status& status) {
  status.SetPayload(kPayload, absl::Cord(absl::string_view(leader.data(), leader.size())));
}

}  // namespace

absl::Status NotTheLeader(std::string_view leader) {
  absl::Status status =
      leader.empty()
          ? Unavailable("not the leader; no leader is known at present, one is being elected")
          : Unavailable("not the leader; the leader is at {}", leader);
  Name(leader, status);
  return status;
}

std::optional<std::string> LeaderNamedBy(const absl::Status& status) {
  const absl::optional<absl::Cord> leader = status.GetPayload(kPayload);
  if (!leader.has_value()) return std::nullopt;
  return std::string(*leader);
}

void SendLeader(const absl::Status& status, grpc::ServerContext& context) {
  if (const std::optional<std::string> leader = LeaderNamedBy(status)) {
    context.AddTrailingMetadata(kLeaderMetadata, *leader);
  }
}

absl::Status WithLeader(absl::Status status, const grpc::ClientContext& context) {
  if (!absl::IsUnavailable(status)) return status;
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(kLeaderMetadata);
  if (found == metadata.end()) return status;
  Name({found->second.data(), found->second.size()}, status);
  return status;
}

}  // namespace headrace
