// Linked into every binary of the tsan preset, and nowhere else. Debian's gRPC is not built with
// ThreadSanitizer, so TSan does not see that what a thread did before it started an operation comes
// before what the thread does that takes the operation's tag from the completion queue. The
// functions here stand in front of gRPC core's (the program's symbols win over a shared library's),
// tell TSan, and call the real ones. The tag's address stands for the operation.
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdlib>

#include "grpc/grpc.h"

namespace {

template <typename Function>
Function* Real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();  // called by a program that does not link gRPC
  return reinterpret_cast<Function*>(found);
}

grpc_event Taken(grpc_event event) {
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

}  // namespace

#define REAL(name) static auto* const real = Real<decltype(name)>(#name)

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count, void* tag,
                                      void* reserved) {
  REAL(grpc_call_start_batch);
  __tsan_release(tag);
  return real(call, ops, count, tag, reserved);
}

grpc_call_error grpc_server_request_call(grpc_server* server, grpc_call** call,
                                         grpc_call_details* details, grpc_metadata_array* metadata,
                                         grpc_completion_queue* bound,
                                         grpc_completion_queue* notified, void* tag) {
  REAL(grpc_server_request_call);
  __tsan_release(tag);
  return real(server, call, details, metadata, bound, notified, tag);
}

grpc_call_error grpc_server_request_registered_call(grpc_server* server, void* method,
                                                    grpc_call** call, gpr_timespec* deadline,
                                                    grpc_metadata_array* metadata,
                                                    grpc_byte_buffer** payload,
                                                    grpc_completion_queue* bound,
                                                    grpc_completion_queue* notified, void* tag) {
  REAL(grpc_server_request_registered_call);
  __tsan_release(tag);
  return real(server, method, call, deadline, metadata, payload, bound, notified, tag);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  REAL(grpc_completion_queue_next);
  return Taken(real(queue, deadline, reserved));
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                       gpr_timespec deadline, void* reserved) {
  REAL(grpc_completion_queue_pluck);
  return Taken(real(queue, tag, deadline, reserved));
}

}  // extern "C"
