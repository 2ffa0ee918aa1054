#include "client/client.h"

#include <thread>
#include <utility>

#include "common/auth_token.h"
#include "common/clock.h"
#include "common/status.h"
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
  HR_ASSIGN_OR_RETURN(std::unique_ptr<DispatcherClient> dispatcher,
                      DialDispatchers(address, RealClock()));
  auto drivers = std::make_shared<TransportRegistry>();
  RegisterAll_transports(*drivers);
  NegotiationOptions negotiation;
  negotiation.transport = options.transport;
  negotiation.connect.tls = options.tls;
  if (!options.token_file.empty()) {
    HR_ASSIGN_OR_RETURN(const BearerToken token, BearerToken::Load(options.token_file));
    negotiation.connect.token = token.HeaderValue();
  }
  HR_ASSIGN_OR_RETURN(std::unique_ptr<FrameConnector> connector,
                      MakeNegotiatingConnector(std::move(drivers), negotiation, RealClock()));
  std::unique_ptr<Client> client(
      new Client(address, options, std::move(dispatcher), std::move(connector)));
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
