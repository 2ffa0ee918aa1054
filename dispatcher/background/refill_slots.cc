#include "dispatcher/background/duties.h"
#include "dispatcher/ops/progress.h"

namespace headrace::dispatch {

void RefillSlots(OpContext& context) {
  for (const auto& [id, job] : context.state().jobs().all()) {
    AssignTasks(context, id);
    MoveLanes(context, id);
  }
}

}  // namespace headrace::dispatch
