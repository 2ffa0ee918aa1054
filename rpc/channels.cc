#include "rpc/channels.h"

#include <charconv>

#include "absl/time/clock.h"
#include "common/status.h"

namespace headrace {
namespace {

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

}  // namespace

absl::Status CheckAddress(std::string_view address) {
  if (address.starts_with("unix:")) {
    std::string_view path = address.substr(5);
    if (path.empty()) return InvalidArgument("address '{}': a path must follow unix:", address);
    // sun_path has 108 bytes with its zero.
    if (path.size() > 107) {
      return InvalidArgument("address '{}': a Unix socket's path has at most 107 bytes", address);
    }
    return absl::OkStatus();
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return InvalidArgument("address '{}': write host:port or unix:path", address);
  }
  const std::string_view port = address.substr(colon + 1);
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number > 65535) {
    return InvalidArgument("address '{}': '{}' is no port (0 to 65535)", address, port);
  }
  return absl::OkStatus();
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, Milliseconds(options.min_reconnect));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, Milliseconds(options.max_reconnect));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, Milliseconds(options.max_reconnect));
  // Channels of one process to one address must not share a connection by accident: each role's
  // options are its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A proxy from the environment would break cluster traffic.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(options.max_receive_bytes);
  arguments.SetMaxSendMessageSize(options.max_send_bytes);
  if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
  auto credentials =
      options.credentials != nullptr ? options.credentials : grpc::InsecureChannelCredentials();
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

void HelpConnect(grpc::Channel& channel, absl::Duration patience) {
  if (channel.GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY) return;
  channel.WaitForConnected(absl::ToChronoTime(absl::Now() + patience));
}

std::shared_ptr<grpc::Channel> Channels::Get(const std::string& address) {
  absl::MutexLock lock(&mutex_);
  auto& channel = channels_[address];
  if (channel == nullptr) channel = MakeChannel(address, options_);
  return channel;
}

void Channels::Drop(const std::string& address) {
  absl::MutexLock lock(&mutex_);
  channels_.erase(address);
}

}  // namespace headrace
