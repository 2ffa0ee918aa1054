#include "transport/grpc/completion_threads.h"

namespace headrace {

CompletionThreads::CompletionThreads(grpc::CompletionQueue& queue, int threads,
                                     const std::string& name)
    : queue_(queue) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back(name + "-" + std::to_string(i), [this] { Run(); });
  }
}

CompletionThreads::~CompletionThreads() {
  queue_.Shutdown();
  threads_.clear();
}

void CompletionThreads::Run() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) static_cast<CompletionTag*>(tag)->Complete(ok);
}

}  // namespace headrace
