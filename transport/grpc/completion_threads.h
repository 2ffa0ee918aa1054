// The threads that work for a gRPC completion queue, and the tags that they call. Our own, because
// those of gRPC 1.51's callback API are two for the whole process, sleep for 100 ms after a quiet
// second, and join themselves when the last channel is let go of in a callback.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/sync/thread.h"
#include "grpcpp/completion_queue.h"

namespace headrace {

// One kind of operation of one call. gRPC has its address while the operation is out.
class CompletionTag {
 public:
  virtual ~CompletionTag() = default;
  virtual void Complete(bool ok) = 0;
};

template <typename Call>
class MemberTag final : public CompletionTag {
 public:
  MemberTag(Call* call, void (Call::*method)(bool)) : call_(call), method_(method) {}
  void Complete(bool ok) override { (call_->*method_)(ok); }

 private:
  Call* const call_;
  void (Call::* const method_)(bool);
};

class CompletionThreads {
 public:
  // `queue` outlives this object. Threads are called name-0, name-1, ...
  CompletionThreads(grpc::CompletionQueue& queue, int threads, const std::string& name);
  // Shuts the queue down and joins, once the operations that are out have completed. The owner must
  // have ended its calls, and start nothing more.
  ~CompletionThreads();

 private:
  void Run();

  grpc::CompletionQueue& queue_;
  std::vector<Thread> threads_;
};

}  // namespace headrace
