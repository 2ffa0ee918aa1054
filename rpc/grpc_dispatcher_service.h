// A DispatcherHandler on a gRPC server: converts statuses, measures, turns an exception of a
// handler into INTERNAL. Owned by the role that runs the server, which must outlive no call: shut
// the server down first.
#pragma once

#include <memory>
#include <string>

#include "common/clock.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/impl/codegen/service_type.h"
#include "rpc/call_observer.h"
#include "rpc/dispatcher_handler.h"

namespace headrace {

// `token`: the `authorization` that each call must show; empty: none.
std::unique_ptr<grpc::Service> MakeGrpcDispatcherService(DispatcherHandler& handler,
                                                         const Clock& clock,
                                                         CallObserver observer = nullptr,
                                                         std::string token = {});

}  // namespace headrace
