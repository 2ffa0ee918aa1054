#include "dispatcher/background/duties.h"
#include "dispatcher/ops/progress.h"

namespace headrace::dispatch {

void FinishEpochs(OpContext& context) {
  for (const auto& [id, job] : context.state().jobs().all()) FinishEpochIfComplete(context, id);
}

}  // namespace headrace::dispatch
