#include "dispatcher/etcd/etcd_client.h"

#include "absl/strings/match.h"

namespace headrace {

bool EtcdClient::MayPass(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return false;
    case absl::StatusCode::kResourceExhausted:
      // "database space exceeded" stays until somebody makes room.
      return absl::StrContains(status.message(), "too many requests");
    default:  // a member that dies shows as CANCELLED, UNKNOWN or INTERNAL too
      return true;
  }
}

}  // namespace headrace
