#include "common/http/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "common/logging/logging.h"
#include "common/status.h"
#include "common/sync/thread.h"

namespace headrace {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr uint32_t kMaxHeaderBytes = 16 * 1024;
constexpr std::chrono::seconds kPeerTimeout{10};

HttpRequest FromBeast(const http::request<http::string_body>& in) {
  HttpRequest out;
  const std::string target(in.target());
  const size_t question = target.find('?');
  out.method = std::string(in.method_string());
  out.path = target.substr(0, question);
  if (question != std::string::npos) out.query = target.substr(question + 1);
  if (const auto found = in.find(http::field::authorization); found != in.end()) {
    out.authorization = std::string(found->value());
  }
  out.body = in.body();
  return out;
}

HttpResponse Handled(const HttpHandler& handler, const HttpRequest& request) {
  try {
    return handler(request);
  } catch (const std::exception& error) {
    LogError("{} {} threw: {}", request.method, request.path, error.what());
  } catch (...) {
    LogError("{} {} threw something that is no std::exception", request.method, request.path);
  }
  return {.status = 500, .body = "internal error; the server's log has it\n"};
}

// One connection; lives in the handlers of its pending operation.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const HttpHandler& handler, uint64_t max_body_bytes,
             std::shared_ptr<int> slot)
      : stream_(std::move(socket)),
        handler_(handler),
        max_body_bytes_(max_body_bytes),
        slot_(std::move(slot)) {}

  void Read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(max_body_bytes_);
    stream_.expires_after(kPeerTimeout);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](error_code error, size_t) { self->OnRequest(error); });
  }

 private:
  void OnRequest(error_code error) {
    if (error == http::error::body_limit || error == http::error::header_limit) {
      Answer({.status = 413, .body = "request too large\n"}, false, false);
    } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
               error != http::error::end_of_stream && error != http::error::partial_message) {
      Answer({.status = 400, .body = "this is no HTTP request\n"}, false, false);
    } else if (!error) {
      const http::request<http::string_body>& request = parser_->get();
      Answer(Handled(handler_, FromBeast(request)), request.keep_alive(),
             request.method() == http::verb::head);
    }
    // Otherwise the peer is gone or silent: the connection ends with this object.
  }

  void Answer(HttpResponse answer, bool keep_alive, bool head) {
    response_ = {};
    response_.result(static_cast<unsigned>(answer.status));
    response_.set(http::field::content_type, answer.content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.keep_alive(keep_alive);
    response_.content_length(answer.body.size());
    if (!head) response_.body() = std::move(answer.body);
    stream_.expires_after(kPeerTimeout);
    http::async_write(stream_, response_,
                      [self = shared_from_this(), keep_alive](error_code error, size_t) {
                        if (error) return;
                        if (keep_alive) return self->Read();
                        error_code ignored;
                        self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
                      });
  }

  beast::tcp_stream stream_;
  const HttpHandler& handler_;
  const uint64_t max_body_bytes_;
  const std::shared_ptr<int> slot_;  // counts the open connections
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
};

absl::Status ListenError(const HttpServer::Options& options, const error_code& error) {
  switch (error.value()) {
    case EADDRINUSE:
      return FailedPrecondition(
          "{} is in use by another process; set {} to another port, or to port 0 to have a free "
          "one chosen",
          options.listen, options.setting);
    case EADDRNOTAVAIL:
      return InvalidArgument("{}: this machine has no such address; set {} to 0.0.0.0:PORT for all",
                             options.listen, options.setting);
    case EACCES:
      return PermissionDenied("{}: not allowed to listen there; set {} to a port from 1024 on",
                              options.listen, options.setting);
    default:
      return Unavailable("listen on {} ({}): {}", options.listen, options.setting, error.message());
  }
}

}  // namespace

class HttpServer::Loop {
 public:
  Loop(Options options, HttpHandler handler)
      : options_(std::move(options)), handler_(std::move(handler)), acceptor_(context_) {}

  // Stops the thread, and with the context go all connections.
  ~Loop() {
    context_.stop();
    thread_.Join();
  }

  // Binds; the port that was chosen.
  absl::StatusOr<uint16_t> Listen(const NetAddress& address) {
    error_code error;
    tcp::resolver resolver(context_);
    const auto found =
        resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, error);
    if (error || found.empty()) {
      return InvalidArgument("{} ({}): cannot resolve '{}': {}", options_.listen, options_.setting,
                             address.host, error.message());
    }
    const tcp::endpoint endpoint = *found.begin();
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return ListenError(options_, error);
    return acceptor_.local_endpoint(error).port();
  }

  void Run() {
    Accept();
    thread_ = Thread(options_.thread_name, [this] {
      try {
        context_.run();
      } catch (const std::exception& error) {
        LogError("the HTTP server on {} ends: {}", options_.listen, error.what());
      }
    });
  }

 private:
  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) {
        if (slots_.use_count() <= options_.max_connections) {
          std::make_shared<Connection>(std::move(socket), handler_, options_.max_body_bytes, slots_)
              ->Read();
        }
        return Accept();
      }
      // Out of descriptors, most likely: not in a hot loop.
      LogLimited(accept_errors_, LogLevel::kWarning, "accept on {}: {}", options_.listen,
                 error.message());
      retry_.expires_after(std::chrono::milliseconds(100));
      retry_.async_wait([this](error_code stopped) {
        if (!stopped) Accept();
      });
    });
  }

  const Options options_;
  const HttpHandler handler_;
  const std::shared_ptr<int> slots_ = std::make_shared<int>();
  LogLimiter accept_errors_{absl::Seconds(10)};
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer retry_{context_};
  Thread thread_;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options,
                                                              HttpHandler handler) {
  absl::StatusOr<NetAddress> address = ParseNetAddress(options.listen);
  if (!address.ok()) return Annotate(address.status(), options.setting);
  if (address->is_unix()) {
    return InvalidArgument("{}: '{}': HTTP is served on host:port only", options.setting,
                           options.listen);
  }
  try {
    auto loop = std::make_unique<Loop>(std::move(options), std::move(handler));
    HR_ASSIGN_OR_RETURN(address->port, loop->Listen(*address));
    loop->Run();
    return std::unique_ptr<HttpServer>(new HttpServer(*std::move(address), std::move(loop)));
  } catch (const std::exception& error) {
    return Internal("start the HTTP server: {}", error.what());
  }
}

HttpServer::HttpServer(NetAddress address, std::unique_ptr<Loop> loop)
    : address_(std::move(address)), loop_(std::move(loop)) {}

HttpServer::~HttpServer() = default;

}  // namespace headrace
