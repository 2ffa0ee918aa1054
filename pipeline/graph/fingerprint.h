// Fingerprints of pipelines: 128 bits of XXH3 in hex. Equal fingerprints mean equal records; they
// are no defence against someone who wants a collision.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "headrace/v1/pipeline.pb.h"
#include "pipeline/graph/params.h"

namespace headrace {

// `given` as a value of the declared type: 1 where a float is asked becomes 1.0, a single value a
// list. Null only where the default is null. Errors as FromValue.
absl::StatusOr<v1::Value> CanonicalValue(const ParamSpec& spec, const v1::Value& given);

// The parameters that `given` means: in the order of `specs`, each in its declared type, defaults
// filled in. Errors as ParamSet::Parse.
absl::StatusOr<v1::ValueMap> CanonicalParams(const std::vector<ParamSpec>& specs,
                                             const v1::ValueMap& given);

// Hashes words and values one after another; ("ab", "c") and ("a", "bc") differ.
class Fingerprint {
 public:
  Fingerprint& Add(std::string_view word);
  Fingerprint& Add(uint64_t number);
  Fingerprint& Add(const v1::Value& value);
  Fingerprint& Add(const v1::ValueMap& values);
  std::string Hex() const;

 private:
  std::string bytes_;  // pipelines are small: hashed in one go
};

}  // namespace headrace
