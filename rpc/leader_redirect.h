// "Not the leader": how a dispatcher that waits answers every call, and how its caller learns where
// to go instead. Over gRPC it is UNAVAILABLE with the leader's address in the message, for people,
// and in the trailing metadata kLeaderMetadata, for programs; between functions the address is a
// payload of the absl::Status.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "grpcpp/client_context.h"
#include "grpcpp/server_context.h"

namespace headrace {

inline constexpr char kLeaderMetadata[] = "headrace-leader";

// `leader`: empty where none is known at present.
absl::Status NotTheLeader(std::string_view leader);

// What a NotTheLeader names (empty: none is known); nullopt for every other status.
std::optional<std::string> LeaderNamedBy(const absl::Status& status);

// Where the address crosses the wire. Nothing is done for other statuses.
void SendLeader(const absl::Status& status, grpc::ServerContext& context);
absl::Status WithLeader(absl::Status status, const grpc::ClientContext& context);

}  // namespace headrace
