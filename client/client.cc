#include "client/client.h"

#include <thread>
#include <utility>

#include "common/clock.h"
#include "common/status.h"
#include "rpc/channels.h"
#include "rpc/grpc_dispatcher_client.h"
#include "transport/grpc/grpc_frame_connector.h"

namespace headrace {

Client::Client(std::string address, const ClientOptions& options)
    : address_(std::move(address)),
      options_(options),
      dispatcher_(MakeGrpcDispatcherClient(MakeChannel(address_), address_, RealClock())),
      connector_(MakeGrpcFrameConnector()) {}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& address,
                                                        const ClientOptions& options) {
  HR_RETURN_IF_ERROR(CheckAddress(address));
  std::unique_ptr<Client> client(new Client(address, options));
  const absl::Duration deadline = RealClock().Steady() + options.connect_timeout;
  while (true) {
    const absl::Status status = client->dispatcher_->ListWorkers({}, options.call_timeout).status();
    if (status.ok()) return client;
    if (!IsTransient(status)) return status;
    if (RealClock().Steady() > deadline) {
      return Unavailable(
          "no dispatcher answers at {} ({} tried): is it running, and is the address right?",
          address, absl::FormatDuration(options.connect_timeout));
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
}

absl::StatusOr<std::unique_ptr<Loader>> Client::Stream(const v1::PipelineDef& pipeline,
                                                       const StreamOptions& options) {
  return Loader::Open(pipeline, options, options_, {dispatcher_, connector_, &RealClock()});
}

}  // namespace headrace
