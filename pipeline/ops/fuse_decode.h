// decode_image followed by a step that takes a part of the image, as the one internal step
// `_decode_and_crop`: the same parts, decoded alone. For the optimizer; a value in, a value out.
#pragma once

#include "absl/status/statusor.h"
#include "headrace/v1/pipeline.pb.h"

namespace headrace {

// True for a decode_image directly followed by resize, center_crop, random_crop without padding or
// random_resized_crop of the same field.
bool CanFuseDecode(const v1::Step& decode, const v1::Step& crop);

// The fused step. `crop_step` is the position of `crop` in the pipeline as written, by which its
// draws are keyed; -1 leaves that to the engine, for a plan whose fused step keeps crop's
// written_index. FAILED_PRECONDITION, with the reason, for a pair that does not fuse.
absl::StatusOr<v1::Step> FuseDecodeWithCrop(const v1::Step& decode, const v1::Step& crop,
                                            int crop_step = -1);

}  // namespace headrace
