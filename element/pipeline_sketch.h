// A pipeline's definition as saved states keep it: long lists of files and long texts (pickled
// functions) stand as their hashes, names and places in the user's source are left out. Two
// sketches differ where the pipelines do.
#pragma once

#include "headrace/v1/pipeline.pb.h"

namespace headrace {

v1::PipelineDef SketchOf(const v1::PipelineDef& pipeline);

}  // namespace headrace
