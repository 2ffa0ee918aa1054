#include "client/python/src/forks.h"

#include <pthread.h>

#include <atomic>

namespace headrace::python {
namespace {

constexpr uint32_t kNever = ~uint32_t{0};

struct Forks {
  std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> grpc_started{kNever};  // the first generation that did
};

Forks& State() {
  static Forks forks;
  static const int registered = pthread_atfork(
      nullptr, nullptr, [] { State().generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks;
}

}  // namespace

uint32_t ForkGeneration() { return State().generation.load(std::memory_order_relaxed); }

void NoteGrpcUse() {
  uint32_t never = kNever;
  State().grpc_started.compare_exchange_strong(never, ForkGeneration());
}

bool GrpcIsUnusable() {
  const uint32_t started = State().grpc_started.load();
  return started != kNever && started != ForkGeneration();
}

}  // namespace headrace::python
