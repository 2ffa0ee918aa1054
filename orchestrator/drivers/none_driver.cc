#include "orchestrator/drivers/none_driver.h"

namespace headrace::orchestrate {

absl::Status NoneDriver::Reconcile(const v1::ObserveFleetReply& fleet) {
  looked_ = true;
  seen_ = ReadyWorkers(fleet);
  return absl::OkStatus();
}

}  // namespace headrace::orchestrate
