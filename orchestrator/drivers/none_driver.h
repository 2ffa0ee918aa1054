// The driver `none`: somebody else scales. What is there is what is wanted, and decisions are
// advice.
#pragma once

#include "orchestrator/drivers/scaling_driver.h"

namespace headrace::orchestrate {

class NoneDriver final : public ScalingDriver {
 public:
  std::string_view name() const override { return "none"; }
  bool scales() const override { return false; }
  bool known() const override { return looked_; }
  size_t wanted() const override { return seen_; }
  void SetWorkers(size_t) override {}
  absl::Status Reconcile(const v1::ObserveFleetReply& fleet) override;

 private:
  bool looked_ = false;
  size_t seen_ = 0;
};

}  // namespace headrace::orchestrate
