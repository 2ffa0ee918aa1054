// What the steps on decoded sound share: which field is a sound, and where its sample rate stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/status.h"
#include "element/block.h"
#include "element/schema.h"

namespace headrace {

// The position of a float32 field [frames], or [frames, channels] where the step takes those.
inline absl::StatusOr<size_t> RequireSound(const Schema& schema, const std::string& name,
                                           bool channels, std::string_view step) {
  HR_ASSIGN_OR_RETURN(const size_t at, schema.Require(name));
  const Field& field = schema[at];
  if (field.dtype == DType::kBytes)
    return InvalidArgument("field '{}' is bytes; decode it first with decode_audio", name);
  const size_t rank = field.shape.rank();
  if (field.dtype != DType::kFloat32 || !field.shape.has_rank() || rank < 1 ||
      rank > (channels ? 2u : 1u)) {
    return InvalidArgument(
        "field '{}' is {} {}; {} takes float32 [frames]{} (decode_audio with mono: true makes it)",
        name, Name(field.dtype), field.shape.ToString(), step,
        channels ? " or [frames, channels]" : "");
  }
  return at;
}

// The position of the int64 field that holds a row's rate; nothing when there is none of that name.
// INVALID_ARGUMENT when it is something else.
inline absl::StatusOr<std::optional<size_t>> FindRate(const Schema& schema,
                                                      const std::string& name) {
  const size_t at = schema.Find(name);
  if (name.empty() || at == Schema::kNone) return std::nullopt;
  if (schema[at].dtype != DType::kInt64 || schema[at].shape != Shape()) {
    return InvalidArgument("field '{}' is {} {}; a sample rate is int64 []", name,
                           Name(schema[at].dtype), schema[at].shape.ToString());
  }
  return at;
}

}  // namespace headrace
