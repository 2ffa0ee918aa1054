// Opens each stream over the best transport that its worker offers and this process reaches it by.
//
// A worker's list is tried in its order, best first. A driver that did not reach the worker
// (IsUnreached: surely nothing was sent) gives way to the next; what worked in the end is
// remembered for that worker, so that one that is out of reach is not waited for again and again.
// Any other error is the stream's. Connectors of drivers are made when they are first used.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "transport/frame_connector.h"
#include "transport/transport_driver.h"

namespace headrace {

inline constexpr char kAutoTransport[] = "auto";

struct NegotiationOptions {
  // A driver's name forces it: a worker that does not offer it, or that it cannot reach, is an
  // error with the worker's address and what it offers.
  std::string transport = kAutoTransport;
  TransportConnectOptions connect;
  // After that long a better transport than the remembered one is tried again.
  absl::Duration remember = absl::Minutes(10);
  // A forced transport that finds nobody for that long, time and again, ends its streams with
  // UNIMPLEMENTED instead of UNAVAILABLE: it will not pass.
  absl::Duration patience = absl::Seconds(20);
};

// INVALID_ARGUMENT when options.transport names no driver. `clock` outlives the connector.
absl::StatusOr<std::unique_ptr<FrameConnector>> MakeNegotiatingConnector(
    std::shared_ptr<const TransportRegistry> drivers, const NegotiationOptions& options,
    const Clock& clock);

}  // namespace headrace
