// Says how a pipeline or its options differ from those of a running job of the same name, in the
// user's words.
#pragma once

#include <string>
#include <string_view>

#include "headrace/v1/dispatcher.pb.h"

namespace headrace::dispatch {

struct DifferenceWords {
  std::string_view here = "here";
  std::string_view there = "there";
};

// "step 2 'shuffle': buffer is 100 here, 1000 there"; "" when there is no difference. Names,
// locations and the error policy do not count.
std::string PipelineDifference(const v1::PipelineDef& here, const v1::PipelineDef& there,
                               const DifferenceWords& words = {});
// world_size does not count: it is looked at when a rank begins an epoch, since a job may be
// restored on another number of them.
std::string OptionsDifference(const v1::JobOptions& here, const v1::JobOptions& there);

}  // namespace headrace::dispatch
