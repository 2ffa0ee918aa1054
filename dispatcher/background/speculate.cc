#include "dispatcher/background/duties.h"
#include "dispatcher/ops/shed.h"

namespace headrace::dispatch {

void Speculate(OpContext& context) {
  for (const auto& [id, job] : context.state().jobs().all()) GiveOutStuck(context, id);
}

}  // namespace headrace::dispatch
