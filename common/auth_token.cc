#include "common/auth_token.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>

#include "absl/strings/match.h"
#include "common/status.h"

namespace headrace {
namespace {

constexpr size_t kMinBytes = 16;
constexpr size_t kMaxBytes = 4096;
constexpr std::string_view kScheme = "bearer ";

}  // namespace

bool ConstantTimeEquals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile uint8_t difference = 0;  // volatile: the compiler must not leave the loop early
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<uint8_t>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

absl::StatusOr<BearerToken> BearerToken::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ErrnoStatus(errno, fmt::format("open token file {}", path));
  std::string token(kMaxBytes + 2, '\0');  // a line end is allowed for
  file.read(token.data(), static_cast<std::streamsize>(token.size()));
  if (file.bad()) return Unavailable("cannot read token file {}", path);
  token.resize(static_cast<size_t>(file.gcount()));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) {
    token.pop_back();
  }
  if (token.size() < kMinBytes || token.size() > kMaxBytes) {
    return InvalidArgument(
        "token file {}: a token has {} to {} characters; make one with: openssl rand -hex 32", path,
        kMinBytes, kMaxBytes);
  }
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; })) {
    return InvalidArgument("token file {}: only visible ASCII characters, and one token", path);
  }
  return BearerToken(std::move(token));
}

bool BearerToken::Matches(std::string_view authorization) const {
  if (authorization.size() < kScheme.size()) return false;
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  return absl::EqualsIgnoreCase({scheme.data(), scheme.size()}, {kScheme.data(), kScheme.size()}) &&
         ConstantTimeEquals(authorization.substr(kScheme.size()), token_);
}

}  // namespace headrace
