// EtcdClient over gRPC, to any of several members: a call goes to the one that answered last, and
// on to the next when that one does not answer. Owned by the dispatcher; thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/tls_files.h"
#include "dispatcher/etcd/etcd_client.h"

namespace headrace {

// `endpoints`: "host:2379", "http://host:2379" or "https://host:2379"; with https, or where `tls`
// names a file, all are spoken to by TLS. No connection is made before the first call.
// INVALID_ARGUMENT: no endpoint, one that is no address; whatever reading a file says. `clock`
// outlives the client.
absl::StatusOr<std::unique_ptr<EtcdClient>> DialEtcd(const std::vector<std::string>& endpoints,
                                                     const TlsFiles& tls, const Clock& clock);

}  // namespace headrace
