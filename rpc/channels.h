// One gRPC channel per address, shared by all stubs of a role. Owned by the role (worker, client,
// orchestrator); thread-safe. Channels connect lazily, and come back by themselves after a peer's
// restart; making one never fails or blocks.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"

namespace headrace {

struct ChannelOptions {
  // A ping when the peer is silent that long, and how long its answer may take: finds dead hosts
  // and dropped NAT entries.
  absl::Duration keepalive_interval = absl::Seconds(20);
  absl::Duration keepalive_timeout = absl::Seconds(5);
  // gRPC's own defaults (1 s to 120 s) would leave a restarted dispatcher unnoticed for minutes.
  absl::Duration min_reconnect = absl::Milliseconds(100);
  absl::Duration max_reconnect = absl::Seconds(1);
  int max_receive_bytes = 64 << 20;
  int max_send_bytes = 64 << 20;
  // Null: plain text.
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  // The name that the peer's certificate must be for; empty: that of the address.
  std::string server_name;
  // Shown in each call ("Bearer ..."); empty: none. Of those who make calls, not of the channel.
  std::string token;
};

// Accepts "host:port" and "unix:/path". INVALID_ARGUMENT that says what is wrong otherwise.
absl::Status CheckAddress(std::string_view address);

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options = {});

// Before a call: has a channel that is not connected try, and looks after the attempt for up to
// `patience`. gRPC works on a connection only while somebody waits for it, and a call on a channel
// whose last attempt failed does not wait: without this, the attempts of one whose peer came back
// run into their time-outs, one after the other.
void HelpConnect(grpc::Channel& channel, absl::Duration patience);
inline constexpr absl::Duration kConnectPatience = absl::Milliseconds(300);

class Channels {
 public:
  explicit Channels(ChannelOptions options = {}) : options_(std::move(options)) {}

  std::shared_ptr<grpc::Channel> Get(const std::string& address);
  // Forgets the channel of a peer that is gone; stubs that hold it keep it alive.
  void Drop(const std::string& address);

 private:
  const ChannelOptions options_;
  absl::Mutex mutex_;
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace headrace
