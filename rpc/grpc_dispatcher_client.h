// DispatcherClient over gRPC. Thread-safe; as many calls at once as there are threads.
#pragma once

#include <memory>
#include <string>

#include "common/clock.h"
#include "grpcpp/grpcpp.h"
#include "rpc/call_observer.h"
#include "rpc/dispatcher_client.h"

namespace headrace {

struct GrpcDispatcherClientOptions {
  std::string token = {};  // shown in each call ("Bearer ..."); empty: none
  bool encrypted = false;  // the channel's credentials are not plain text; for messages
};

// `address` is for messages: an error reads "dispatcher 10.0.0.1:5050: failed to connect ...".
std::unique_ptr<DispatcherClient> MakeGrpcDispatcherClient(
    std::shared_ptr<grpc::Channel> channel, std::string address, const Clock& clock,
    CallObserver observer = nullptr, const GrpcDispatcherClientOptions& options = {});

}  // namespace headrace
