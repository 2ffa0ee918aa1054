// Bearer tokens: read from a file, compared in constant time, never logged. (TLS is elsewhere: a
// token on an open network protects nothing.)
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace headrace {

// Takes as long for a wrong first byte as for a wrong last one. The lengths are no secret.
bool ConstantTimeEquals(std::string_view a, std::string_view b);

class BearerToken {
 public:
  // The file's content without white space at its end: 16 to 4,096 visible ASCII characters. Errors
  // name the file, never what is in it.
  static absl::StatusOr<BearerToken> Load(const std::string& path);

  // Does the value of an Authorization header carry this token? The scheme's case does not matter
  // (RFC 7235).
  bool Matches(std::string_view authorization) const;

  // "Bearer ..." for the header.
  std::string HeaderValue() const { return "Bearer " + token_; }

 private:
  explicit BearerToken(std::string token) : token_(std::move(token)) {}

  std::string token_;
};

}  // namespace headrace
