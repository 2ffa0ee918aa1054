// What calls to the dispatcher are guarded by: TLS, and a bearer token in each call. Read from
// files once, when a role starts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/tls_files.h"
#include "grpcpp/grpcpp.h"
#include "rpc/channels.h"

namespace headrace {

// How a caller dials: encrypted where `tls` names anything, with the token of `token_file` where
// that is set. INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED: a file, with the key that names it.
absl::StatusOr<ChannelOptions> MakeChannelOptions(const TlsFiles& tls,
                                                  const std::string& token_file);

// How a server listens. Null credentials: plain text.
struct ServerSecurity {
  std::shared_ptr<grpc::ServerCredentials> credentials;
  std::string token;  // the `authorization` that callers must show; empty: none
};
absl::StatusOr<ServerSecurity> MakeServerSecurity(const TlsFiles& tls,
                                                  const std::string& token_file);

// UNAUTHENTICATED, with what to do, when `token` is asked for and the call does not show it.
absl::Status CheckToken(const std::string& token, const grpc::ServerContext& context);

// An error of a call that may have failed because certificates or their absence do not fit: the
// same, with what to do about it when gRPC's words tell. `encrypted`: we dialled with TLS.
absl::Status WithTlsAdvice(absl::Status status, bool encrypted);
// Does it surely come from certificates that do not fit? Trying again does not help before
// somebody changes them; code that has worked before should try again all the same.
bool IsTlsMismatch(const absl::Status& status);

}  // namespace headrace
