// normalize whose output goes into a batch, as the one internal step `_normalize_and_batch`: pixels
// stay what they were until they are written into the batch. For the optimizer; a value in, a value
// out.
#pragma once

#include "headrace/v1/pipeline.pb.h"

namespace headrace {

// `normalize` and the `batch` that its rows go into, as one step in the batch's place.
v1::Step FuseNormalizeWithBatch(const v1::Step& normalize, const v1::Step& batch);

}  // namespace headrace
