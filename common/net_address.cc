#include "common/net_address.h"

#include <sys/un.h>

#include <algorithm>
#include <charconv>

#include "common/status.h"

namespace headrace {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

absl::StatusOr<NetAddress> ParseUnix(std::string_view text) {
  NetAddress out;
  out.unix_path = text.substr(kUnixPrefix.size());
  if (out.unix_path.empty()) return InvalidArgument("'{}': the path is missing", text);
  constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
  if (out.unix_path.size() > kMaxPathBytes) {
    return InvalidArgument("'{}': a Unix socket's path has at most {} bytes", text, kMaxPathBytes);
  }
  return out;
}

bool HasSpace(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) <= ' '; });
}

}  // namespace

bool NetAddress::IsLoopback() const {
  return is_unix() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string NetAddress::ToString() const {
  if (is_unix()) return fmt::format("{}{}", kUnixPrefix, unix_path);
  if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
  return fmt::format("{}:{}", host, port);
}

absl::StatusOr<NetAddress> ParseNetAddress(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) return ParseUnix(text);
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return InvalidArgument("'{}': expected host:port, such as 0.0.0.0:5051", text);
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']') && host.size() > 2) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of("[]:") != std::string_view::npos) {
    return InvalidArgument("'{}': an IPv6 address needs brackets, such as [::1]:5051", text);
  }
  if (host.empty() || HasSpace(host)) {
    return InvalidArgument("'{}': the host is missing or has a space; 0.0.0.0 is every interface",
                           text);
  }
  NetAddress out;
  out.host = host;
  const char* const end = port.data() + port.size();
  const auto [after, error] = std::from_chars(port.data(), end, out.port);
  if (error != std::errc() || after != end) {
    return InvalidArgument("'{}': '{}' is no port from 0 to 65535", text, port);
  }
  return out;
}

}  // namespace headrace
