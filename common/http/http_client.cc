#include "common/http/http_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <optional>
#include <type_traits>

#include "common/status.h"

namespace headrace {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

using Plain = beast::tcp_stream;
using Secure = beast::ssl_stream<beast::tcp_stream>;

http::request<http::string_body> ToBeast(const HttpCall& call, const std::string& host) {
  http::request<http::string_body> request;
  request.method_string(call.method);
  request.target(call.target);
  request.version(11);
  request.set(http::field::host, host);
  request.set(http::field::user_agent, "headrace");
  request.set(http::field::connection, "close");
  for (const auto& [name, value] : call.headers) request.set(name, value);
  request.body() = call.body;
  request.prepare_payload();
  return request;
}

// One call: each step begins the next, and the io_context runs for as long as the call may take.
template <typename Stream>
class Exchange {
 public:
  Exchange(asio::io_context& io, Stream& stream, http::request<http::string_body> request,
           size_t max_body_bytes)
      : resolver_(io), stream_(stream), request_(std::move(request)) {
    parser_.body_limit(max_body_bytes);
  }

  void Start(const std::string& host, const std::string& port) {
    resolver_.async_resolve(host, port, [this](error_code e, tcp::resolver::results_type found) {
      if (Failed(e, "look up its name")) return;
      beast::get_lowest_layer(stream_).async_connect(found,
                                                     [this](error_code e, const tcp::endpoint&) {
                                                       if (!Failed(e, "connect")) Handshake();
                                                     });
    });
  }

  absl::StatusOr<HttpAnswer> Result() {
    if (!error_.empty()) return absl::Status(code_, error_);
    if (!done_) return DeadlineExceeded("no answer in time");
    return HttpAnswer{static_cast<int>(parser_.get().result_int()),
                      std::move(parser_.get().body())};
  }

 private:
  bool Failed(const error_code& e, const char* what) {
    if (!e) return false;
    code_ = e == http::error::body_limit ? absl::StatusCode::kOutOfRange
                                         : absl::StatusCode::kUnavailable;
    error_ = fmt::format("{}: {}", what, e.message());
    return true;
  }
  void Handshake() {
    if constexpr (std::is_same_v<Stream, Secure>) {
      stream_.async_handshake(ssl::stream_base::client, [this](error_code e) {
        if (!Failed(e, "TLS")) Write();
      });
    } else {
      Write();
    }
  }
  void Write() {
    http::async_write(stream_, request_, [this](error_code e, size_t) {
      if (!Failed(e, "send the request")) Read();
    });
  }
  void Read() {
    http::async_read(stream_, buffer_, parser_, [this](error_code e, size_t) {
      if (!Failed(e, "read the answer")) done_ = true;
    });
  }

  tcp::resolver resolver_;
  Stream& stream_;
  const http::request<http::string_body> request_;
  beast::flat_buffer buffer_;
  http::response_parser<http::string_body> parser_;
  bool done_ = false;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::string error_;
};

template <typename Stream>
absl::StatusOr<HttpAnswer> Run(asio::io_context& io, Stream& stream, const HttpCall& call,
                               const std::string& host, const std::string& port,
                               const HttpClient::Options& options) {
  Exchange<Stream> exchange(io, stream, ToBeast(call, host), options.max_body_bytes);
  exchange.Start(host, port);
  io.run_for(absl::ToChronoMilliseconds(options.timeout));
  return exchange.Result();
}

}  // namespace

class HttpClient::Tls {
 public:
  ssl::context context{ssl::context::tls_client};
};

HttpClient::HttpClient(Options options) : options_(std::move(options)) {}
HttpClient::~HttpClient() = default;

absl::StatusOr<std::unique_ptr<HttpClient>> HttpClient::Make(const Options& options) {
  std::unique_ptr<HttpClient> client(new HttpClient(options));
  std::string_view rest = options.url;
  if (rest.starts_with("https://")) {
    client->https_ = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return InvalidArgument("'{}' is no URL: it begins with neither http:// nor https://",
                           options.url);
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const size_t colon = rest.rfind(':');
  const bool has_port =
      colon != std::string_view::npos && rest.find(']', colon) == std::string_view::npos;
  std::string_view host = has_port ? rest.substr(0, colon) : rest;
  client->port_ = has_port ? std::string(rest.substr(colon + 1)) : client->https_ ? "443" : "80";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  client->host_ = std::string(host);
  if (host.empty() || host.find('/') != std::string_view::npos)
    return InvalidArgument("'{}' is no URL of a host and a port", options.url);
  if (!client->https_) return client;
  client->tls_ = std::make_unique<Tls>();
  error_code e;
  client->tls_->context.set_verify_mode(ssl::verify_peer, e);
  if (options.ca_file.empty()) {
    client->tls_->context.set_default_verify_paths(e);
  } else {
    client->tls_->context.load_verify_file(options.ca_file, e);
  }
  if (e) return InvalidArgument("certificates of '{}': {}", options.ca_file, e.message());
  return client;
}

absl::StatusOr<HttpAnswer> HttpClient::Call(const HttpCall& call) {
  asio::io_context io;
  absl::StatusOr<HttpAnswer> answer = absl::UnknownError("");
  try {
    if (https_) {
      Secure stream(io, tls_->context);
      stream.set_verify_callback(ssl::host_name_verification(host_));
      error_code e;
      if (SSL_set_tlsext_host_name(stream.native_handle(), host_.c_str()) != 1)
        return Internal("{}: the name '{}' cannot be told", options_.url, host_);
      answer = Run(io, stream, call, host_, port_, options_);
    } else {
      Plain stream(io);
      answer = Run(io, stream, call, host_, port_, options_);
    }
  } catch (const std::exception& error) {
    return Unavailable("{} {}{}: {}", call.method, options_.url, call.target, error.what());
  }
  if (answer.ok()) return answer;
  return Annotate(answer.status(), fmt::format("{} {}{}", call.method, options_.url, call.target));
}

}  // namespace headrace
