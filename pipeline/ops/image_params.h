// Parameters that several image steps have, declared in the same words. P holds them under the same
// names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/graph/params.h"

namespace headrace {

template <typename P>
void DeclareImage(ParamSet<P>& params) {
  params.Required("field", &P::field, "image, uint8 or float32 [height, width, channels]");
}

template <typename P>
void DeclareCropSize(ParamSet<P>& params) {
  params.Required("size", &P::size, "[height, width] of the result; a single number is both");
}

// What ParseResizedCropRule and ParseResampleMethod take.
template <typename P>
void DeclareResizedCrop(ParamSet<P>& params) {
  params.Optional("scale", &P::scale, "least and most of the image's area that is taken")
      .Optional("ratio", &P::ratio, "least and most width / height of the part")
      .Optional("method", &P::method, "bilinear or bicubic, both antialiased");
}

template <typename P>
void DeclareSeed(ParamSet<P>& params) {
  params.Optional("seed", &P::seed, "of this step; default: the pipeline's");
}

}  // namespace headrace
