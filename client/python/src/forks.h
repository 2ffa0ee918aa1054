// Whether this process was forked, and since when: threads, sockets and gRPC's state stay in the
// parent, so what was made there may be neither used, joined nor freed here. Any thread.
#pragma once

#include <cstdint>

namespace headrace::python {

// How many forks lie between the process that imported the module and this one.
uint32_t ForkGeneration();

// Where a thing was made.
class Birthplace {
 public:
  bool forked_since() const { return generation_ != ForkGeneration(); }

 private:
  uint32_t generation_ = ForkGeneration();
};

// Called before anything that starts gRPC.
void NoteGrpcUse();
// gRPC was started in a process that this one was forked from: a channel opened here would hang,
// and would write into the epoll set that the parent reads.
bool GrpcIsUnusable();

}  // namespace headrace::python
