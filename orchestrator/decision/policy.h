// A policy is a pure function: what it decides depends on its options, the observations it was
// given and their order alone; no clock, no I/O, no threads, no randomness of its own. So the same
// one runs in the service, in `headrace simulate` and in a property test.
//
//   struct FooState { ... };
//   std::vector<Decision> DecideFoo(const FooOptions&, const Observation&, FooState&);
//   std::unique_ptr<Policy> policy = MakePolicy<FooOptions, FooState>("foo", options, DecideFoo);
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/decision/decision.h"
#include "orchestrator/observation/observation.h"

namespace headrace::orchestrate {

// What the control loop and the simulator run, once per window. Owned by one thread.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual const std::string& name() const = 0;
  // One decision for each thing that it decides about; a hold with its reason when nothing is to be
  // done. Empty where there is nothing to decide about.
  virtual std::vector<Decision> Decide(const Observation& observation) = 0;
};

template <typename Options, typename State>
class PurePolicy final : public Policy {
 public:
  using Function = std::vector<Decision> (*)(const Options&, const Observation&, State&);
  PurePolicy(std::string name, Options options, Function function)
      : name_(std::move(name)), options_(std::move(options)), function_(function) {}

  const std::string& name() const override { return name_; }
  std::vector<Decision> Decide(const Observation& observation) override {
    return function_(options_, observation, state_);
  }

 private:
  const std::string name_;
  const Options options_;
  const Function function_;
  State state_;
};

template <typename Options, typename State>
std::unique_ptr<Policy> MakePolicy(std::string name, Options options,
                                   typename PurePolicy<Options, State>::Function function) {
  return std::make_unique<PurePolicy<Options, State>>(std::move(name), std::move(options),
                                                      function);
}

}  // namespace headrace::orchestrate
