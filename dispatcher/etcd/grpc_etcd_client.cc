#include "dispatcher/etcd/grpc_etcd_client.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/time/clock.h"
#include "common/logging/logging.h"
#include "common/status.h"
#include "etcd/v3.grpc.pb.h"
#include "rpc/channels.h"
#include "rpc/grpc_status.h"

namespace headrace {
namespace {

class GrpcEtcdClient final : public EtcdClient {
 public:
  GrpcEtcdClient(const std::vector<std::string>& addresses, const ChannelOptions& options,
                 const Clock& clock)
      : clock_(clock) {
    for (const std::string& address : addresses) {
      auto channel = MakeChannel(address, options);
      members_.push_back(
          {address, channel, etcd::KV::NewStub(channel), etcd::Lease::NewStub(channel)});
    }
  }

  absl::StatusOr<etcd::RangeResponse> Range(const etcd::RangeRequest& request,
                                            absl::Duration timeout) override {
    return Call<etcd::RangeResponse>(timeout, [&](Member& member, auto* context, auto* response) {
      return member.kv->Range(context, request, response);
    });
  }
  absl::StatusOr<etcd::TxnResponse> Txn(const etcd::TxnRequest& request,
                                        absl::Duration timeout) override {
    return Call<etcd::TxnResponse>(timeout, [&](Member& member, auto* context, auto* response) {
      return member.kv->Txn(context, request, response);
    });
  }
  absl::StatusOr<etcd::CompactionResponse> Compact(const etcd::CompactionRequest& request,
                                                   absl::Duration timeout) override {
    return Call<etcd::CompactionResponse>(timeout,
                                          [&](Member& member, auto* context, auto* response) {
                                            return member.kv->Compact(context, request, response);
                                          });
  }
  absl::StatusOr<etcd::LeaseGrantResponse> Grant(const etcd::LeaseGrantRequest& request,
                                                 absl::Duration timeout) override {
    return Call<etcd::LeaseGrantResponse>(
        timeout, [&](Member& member, auto* context, auto* response) {
          return member.lease->LeaseGrant(context, request, response);
        });
  }
  absl::StatusOr<etcd::LeaseRevokeResponse> Revoke(const etcd::LeaseRevokeRequest& request,
                                                   absl::Duration timeout) override {
    return Call<etcd::LeaseRevokeResponse>(
        timeout, [&](Member& member, auto* context, auto* response) {
          return member.lease->LeaseRevoke(context, request, response);
        });
  }
  absl::StatusOr<etcd::LeaseKeepAliveResponse> KeepAlive(const etcd::LeaseKeepAliveRequest& request,
                                                         absl::Duration timeout) override {
    // etcd has it as a stream only; ours lives for one question.
    return Call<etcd::LeaseKeepAliveResponse>(
        timeout, [&](Member& member, auto* context, auto* response) {
          auto stream = member.lease->LeaseKeepAlive(context);
          stream->Write(request);
          stream->WritesDone();
          if (stream->Read(response)) {
            context->TryCancel();
            (void)stream->Finish();
            return grpc::Status::OK;
          }
          const grpc::Status status = stream->Finish();
          return status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "no answer") : status;
        });
  }

 private:
  struct Member {
    std::string address;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<etcd::KV::Stub> kv;
    std::unique_ptr<etcd::Lease::Stub> lease;
  };

  template <typename Response, typename Send>
  absl::StatusOr<Response> Call(absl::Duration timeout, Send&& send) {
    const absl::Duration deadline = clock_.Steady() + timeout;
    // A member that hangs must leave time for the others.
    const absl::Duration share =
        timeout / static_cast<double>(std::min<size_t>(members_.size(), 3));
    absl::Status status;
    for (size_t tried = 0; tried < members_.size(); ++tried) {
      const absl::Duration left = deadline - clock_.Steady();
      if (tried > 0 && left <= absl::ZeroDuration()) break;
      size_t at = current_;
      Member& member = members_[at];
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(absl::Now() + std::min(left, share)));
      HelpConnect(*member.channel, std::min({left, share, kConnectPatience}));
      Response response;
      status = FromGrpcStatus(send(member, &context, &response));
      if (status.ok()) return response;
      status = Annotate(status, fmt::format("etcd {}", member.address));
      if (!MayPass(status)) return status;
      current_.compare_exchange_strong(at, (at + 1) % members_.size());
    }
    return status;
  }

  const Clock& clock_;
  std::vector<Member> members_;
  std::atomic<size_t> current_ = 0;
};

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return Annotate(ErrnoStatus(errno != 0 ? errno : EIO, "read " + path), "journal.tls");
  }
  return text.str();
}

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdClient>> DialEtcd(const std::vector<std::string>& endpoints,
                                                     const TlsFiles& tls, const Clock& clock) {
  if (endpoints.empty()) return InvalidArgument("journal.endpoints: name at least one etcd member");
  std::vector<std::string> addresses;
  bool encrypted = !tls.empty();
  for (std::string_view endpoint : endpoints) {
    const std::string_view whole = endpoint;
    if (endpoint.starts_with("https://")) {
      encrypted = true;
      endpoint.remove_prefix(8);
    } else if (endpoint.starts_with("http://")) {
      if (!tls.empty()) {
        return InvalidArgument("journal.endpoints: {}: write https:// where journal.tls is set",
                               whole);
      }
      endpoint.remove_prefix(7);
    }
    if (endpoint.ends_with('/')) endpoint.remove_suffix(1);
    HR_RETURN_IF_ERROR(Annotate(CheckAddress(endpoint), "journal.endpoints"));
    addresses.emplace_back(endpoint);
  }
  ChannelOptions options;
  options.max_receive_bytes = -1;  // a page of events; see EtcdJournal
  if (encrypted) {
    grpc::SslCredentialsOptions files;
    HR_ASSIGN_OR_RETURN(files.pem_root_certs, ReadPem(tls.ca));
    HR_ASSIGN_OR_RETURN(files.pem_cert_chain, ReadPem(tls.cert));
    HR_ASSIGN_OR_RETURN(files.pem_private_key, ReadPem(tls.key));
    options.credentials = grpc::SslCredentials(files);
  }
  return std::make_unique<GrpcEtcdClient>(addresses, options, clock);
}

}  // namespace headrace
