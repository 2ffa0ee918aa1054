// Ids start from 1 in every journal: a request that names another life's ids must not be taken for
// one of this.
#pragma once

#include "dispatcher/context/op_context.h"

namespace headrace::dispatch {

// `cluster` as a request has it; 0: it does not say.
inline bool OfAnotherCluster(const OpContext& context, uint64_t cluster) {
  return cluster != 0 && cluster != context.state().cluster();
}

}  // namespace headrace::dispatch
