#include "client/client.h"

#include <thread>
#include <utility>

#include "common/clock.h"
#include "common/status.h"
#include "rpc/call_security.h"
#include "rpc/failover_dispatcher_client.h"
#include "transport/negotiating_connector.h"

namespace headrace {

Client::Client(std::string address, const ClientOptions& options,
               std::shared_ptr<DispatcherClient> dispatcher,
               std::shared_ptr<FrameConnector> connector)
    : address_(std::move(address)),
      options_(options),
      dispatcher_(std::move(dispatcher)),
      connector_(std::move(connector)) {}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& address,
                                                        const ClientOptions& options) {
  HR_ASSIGN_OR_RETURN(const ChannelOptions dial,
                      MakeChannelOptions(options.tls, options.token_file));
  HR_ASSIGN_OR_RETURN(std::unique_ptr<DispatcherClient> dispatcher,
                      DialDispatchers(address, RealClock(), dial));
  auto drivers = std::make_shared<TransportRegistry>();
  RegisterAll_transports(*drivers);
  NegotiationOptions negotiation;
  negotiation.transport = options.transport;
  negotiation.connect.tls = options.tls;
  negotiation.connect.token = dial.token;
  HR_ASSIGN_OR_RETURN(std::unique_ptr<FrameConnector> connector,
                      MakeNegotiatingConnector(std::move(drivers), negotiation, RealClock()));
  std::unique_ptr<Client> client(
      new Client(address, options, std::move(dispatcher), std::move(connector)));
  const absl::Duration deadline = RealClock().Steady() + options.connect_timeout;
  while (true) {
    const absl::Status status = client->dispatcher_->ListWorkers({}, options.call_timeout).status();
    if (status.ok()) return client;
    if (IsTlsMismatch(status)) return absl::UnauthenticatedError(status.message());
    if (!IsTransient(status)) return status;
    if (RealClock().Steady() > deadline) {
      return Unavailable(
          "no dispatcher answers at {} ({} tried): is it running, and is the address right? The "
          "last try: {}",
          address, absl::FormatDuration(options.connect_timeout), std::string(status.message()));
    }
    absl::SleepFor(absl::Milliseconds(100));
  }
}

absl::StatusOr<std::unique_ptr<Loader>> Client::Stream(const v1::PipelineDef& pipeline,
                                                       const StreamOptions& options) {
  return Loader::Open(pipeline, options, options_, {dispatcher_, connector_, &RealClock()});
}

}  // namespace headrace
