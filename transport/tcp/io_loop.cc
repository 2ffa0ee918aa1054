#include "transport/tcp/io_loop.h"

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <optional>
#include <utility>

#include "common/logging/logging.h"
#include "common/net_address.h"
#include "common/status.h"
#include "common/sync/thread.h"

namespace headrace::tcp {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class TlsContext {
 public:
  asio::ssl::context context{asio::ssl::context::tls};
  std::string server_name;  // that certificates must be for; empty: the host that was dialled
};

namespace {

constexpr absl::Duration kTlsTimeout = absl::Seconds(5);
constexpr size_t kMostPieces = 64;  // what one system call takes with Asio

absl::Status StatusOf(const error_code& error) {
  if (!error) return absl::OkStatus();
  if (error == asio::error::operation_aborted) return Cancelled("closed");
  return Unavailable("{}", error.message());
}

// Reports what a socket did; the end of the stream is no error.
void Report(Wire::Done& done, const error_code& error, size_t n) {
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    done(absl::OkStatus(), 0);
  } else {
    done(StatusOf(error), n);
  }
}

// iovecs as Asio's buffers, without a vector.
template <typename Buffer>
class Pieces {
 public:
  using value_type = Buffer;
  using const_iterator = const Buffer*;
  explicit Pieces(std::span<const iovec> from) : size_(std::min(from.size(), kMostPieces)) {
    for (size_t i = 0; i < size_; ++i) pieces_[i] = Buffer(from[i].iov_base, from[i].iov_len);
  }
  const_iterator begin() const { return pieces_.data(); }
  const_iterator end() const { return pieces_.data() + size_; }

 private:
  std::array<Buffer, kMostPieces> pieces_;
  size_t size_;
};

std::string PeerOf(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint peer = socket.remote_endpoint(error);
  if (error) return "a client that is gone";
  return NetAddress{.host = peer.address().to_string(), .port = peer.port()}.ToString();
}

}  // namespace

class IoThreads::Loop final : public IoLoop {
 public:
  explicit Loop(const std::string& name)
      : work_(asio::make_work_guard(context_)), thread_(name, [this] { Run(); }) {}
  ~Loop() override {
    context_.stop();
    thread_.Join();
  }
  void Post(Callback callback) override { asio::post(context_, std::move(callback)); }
  asio::io_context& context() { return context_; }

 private:
  void Run() {
    // Asio throws what a callback throws; ours do not, but for memory that is used up.
    context_.run();
  }
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Thread thread_;
};

class IoThreads::PlainWire final : public Wire {
 public:
  PlainWire(Loop& loop, tcp::socket socket)
      : loop_(loop), socket_(std::move(socket)), timer_(loop.context()), peer_(PeerOf(socket_)) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
  }
  void Read(std::span<const iovec> to, Done done) override {
    socket_.async_read_some(Pieces<asio::mutable_buffer>(to),
                            [done = std::move(done)](const error_code& error, size_t n) mutable {
                              Report(done, error, n);
                            });
  }
  void Write(std::span<const iovec> from, Done done) override {
    socket_.async_write_some(Pieces<asio::const_buffer>(from),
                             [done = std::move(done)](const error_code& error, size_t n) mutable {
                               Report(done, error, n);
                             });
  }
  void After(absl::Duration delay, Callback tick) override {
    timer_.expires_after(absl::ToChronoMicroseconds(delay));
    timer_.async_wait([tick = std::move(tick)](const error_code& error) mutable {
      if (!error) tick();
    });
  }
  void EndWriting() override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
  void Close() override {
    timer_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }
  IoLoop& loop() override { return loop_; }
  const std::string& peer() const override { return peer_; }
  bool secure() const override { return false; }

 private:
  Loop& loop_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  const std::string peer_;
};

class IoThreads::TlsWire final : public Wire {
 public:
  TlsWire(Loop& loop, tcp::socket socket, std::shared_ptr<TlsContext> tls)
      : loop_(loop),
        tls_(std::move(tls)),
        peer_(PeerOf(socket)),
        stream_(std::move(socket), tls_->context),
        timer_(loop.context()) {
    error_code ignored;
    stream_.next_layer().set_option(tcp::no_delay(true), ignored);
  }
  // Once, before anything else.
  void Handshake(bool server, std::function<void(const error_code&)> done) {
    stream_.async_handshake(
        server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client, std::move(done));
  }
  void ExpectHost(const std::string& host) {
    SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str());
    stream_.set_verify_callback(asio::ssl::host_name_verification(host));
  }
  void Read(std::span<const iovec> to, Done done) override {
    stream_.async_read_some(asio::buffer(to[0].iov_base, to[0].iov_len),
                            [done = std::move(done)](const error_code& error, size_t n) mutable {
                              Report(done, error, n);
                            });
  }
  void Write(std::span<const iovec> from, Done done) override {
    stream_.async_write_some(asio::buffer(from[0].iov_base, from[0].iov_len),
                             [done = std::move(done)](const error_code& error, size_t n) mutable {
                               Report(done, error, n);
                             });
  }
  void After(absl::Duration delay, Callback tick) override {
    timer_.expires_after(absl::ToChronoMicroseconds(delay));
    timer_.async_wait([tick = std::move(tick)](const error_code& error) mutable {
      if (!error) tick();
    });
  }
  void EndWriting() override {
    error_code ignored;
    stream_.next_layer().shutdown(tcp::socket::shutdown_send, ignored);
  }
  void Close() override {
    timer_.cancel();
    error_code ignored;
    stream_.next_layer().close(ignored);
  }
  IoLoop& loop() override { return loop_; }
  const std::string& peer() const override { return peer_; }
  bool secure() const override { return true; }

 private:
  Loop& loop_;
  const std::shared_ptr<TlsContext> tls_;
  const std::string peer_;
  asio::ssl::stream<tcp::socket> stream_;
  asio::steady_timer timer_;
};

IoThreads::IoThreads(int threads, const std::string& name) {
  for (int i = 0; i < threads; ++i) loops_.push_back(std::make_unique<Loop>(name));
}
IoThreads::~IoThreads() = default;

IoLoop& IoThreads::Next() { return *loops_[next_.fetch_add(1) % loops_.size()]; }

absl::StatusOr<std::shared_ptr<TlsContext>> IoThreads::LoadTls(const TlsFiles& files, bool server) {
  if (files.empty()) return nullptr;
  auto tls = std::make_shared<TlsContext>();
  tls->server_name = files.server_name;
  asio::ssl::context& context = tls->context;
  error_code error;
  const auto failed = [&error](const std::string& what, const std::string& path) {
    return InvalidArgument("tls.{}: {}: {}", what, path, error.message());
  };
  context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                          asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                          asio::ssl::context::no_tlsv1_1,
                      error);
  if (!files.cert.empty()) {
    context.use_certificate_chain_file(files.cert, error);
    if (error) return failed("cert", files.cert);
    context.use_private_key_file(files.key, asio::ssl::context::pem, error);
    if (error) return failed("key", files.key);
  } else if (server) {
    return InvalidArgument("tls.cert: a worker that serves TLS needs a certificate and its key");
  }
  if (!files.ca.empty()) {
    context.load_verify_file(files.ca, error);
    if (error) return failed("ca", files.ca);
  } else if (!server) {
    context.set_default_verify_paths(error);
  }
  // A server asks for certificates when it has an authority to check them by.
  if (!server || (!files.ca.empty() && files.client_certificates)) {
    context.set_verify_mode(
        asio::ssl::verify_peer | (server ? asio::ssl::verify_fail_if_no_peer_cert : 0), error);
  }
  return tls;
}

namespace {

// Resolve, connect, with a bound. Holds itself through its callbacks.
class Dial : public std::enable_shared_from_this<Dial> {
 public:
  using Finish = std::function<void(const error_code&, tcp::socket)>;
  Dial(asio::io_context& context, std::string address, Finish finish)
      : address_(std::move(address)),
        resolver_(context),
        socket_(context),
        timer_(context),
        finish_(std::move(finish)) {}

  void Start(const NetAddress& to, absl::Duration timeout) {
    auto self = shared_from_this();
    timer_.expires_after(absl::ToChronoMicroseconds(timeout));
    timer_.async_wait([self](const error_code& error) {
      if (!error) self->End(asio::error::timed_out);
    });
    error_code not_numeric;
    const asio::ip::address numeric = asio::ip::make_address(to.host, not_numeric);
    if (!not_numeric) {
      socket_.async_connect({numeric, to.port}, [self](const error_code& e) { self->End(e); });
      return;
    }
    resolver_.async_resolve(
        to.host, std::to_string(to.port),
        [self](const error_code& error, const tcp::resolver::results_type& found) {
          if (error || !self->finish_) return self->End(error);
          asio::async_connect(self->socket_, found,
                              [self](const error_code& e, const tcp::endpoint&) { self->End(e); });
        });
  }

 private:
  void End(const error_code& error) {
    if (!finish_) return;
    timer_.cancel();
    resolver_.cancel();
    Finish finish = std::exchange(finish_, nullptr);
    finish(error, std::move(socket_));
  }
  const std::string address_;
  tcp::resolver resolver_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  Finish finish_;
};

}  // namespace

void IoThreads::Connect(IoLoop& on, const std::string& address, std::shared_ptr<TlsContext> tls,
                        absl::Duration timeout, Connected connected) {
  auto& loop = static_cast<Loop&>(on);
  auto done = std::make_shared<Connected>(std::move(connected));
  absl::StatusOr<NetAddress> to = ParseNetAddress(address);
  if (!to.ok()) {
    loop.Post([done, status = to.status()] { (*done)(status); });
    return;
  }
  const auto connect = [&loop, done, to = *to, address, tls](const error_code& error,
                                                             tcp::socket socket) {
    if (error) return (*done)(Unavailable("connect {}: {}", address, error.message()));
    if (tls == nullptr)
      return (*done)(std::unique_ptr<Wire>(new PlainWire(loop, std::move(socket))));
    auto wire = std::make_shared<std::unique_ptr<TlsWire>>(
        std::make_unique<TlsWire>(loop, std::move(socket), tls));
    const std::string& name = tls->server_name.empty() ? to.host : tls->server_name;
    (*wire)->ExpectHost(name);
    (*wire)->After(kTlsTimeout, [wire] {
      if (*wire != nullptr) (*wire)->Close();
    });
    (*wire)->Handshake(false, [done, wire, address, name](const error_code& failed) {
      if (failed)
        return (*done)(MakeStatus(
            absl::StatusCode::kUnauthenticated,
            "TLS with {}: {} (does it speak TLS, is its certificate signed by an authority of "
            "tls.ca, and is it for the name {}? docs/security.md)",
            address, failed.message(), name));
      (*done)(std::move(*wire));
    });
  };
  auto dial = std::make_shared<Dial>(loop.context(), address, connect);
  loop.Post([dial, to = *to, timeout] { dial->Start(to, timeout); });
}

class IoThreads::Acceptor final : public Listener, public std::enable_shared_from_this<Acceptor> {
 public:
  // What connections on other loops may hold for longer than the acceptor lives.
  struct Shared {
    std::shared_ptr<TlsContext> tls;
    Accepted accepted;
    std::string address;
    LogLimiter limiter{absl::Seconds(10)};
  };
  Acceptor(IoThreads& threads, Loop& loop, tcp::acceptor acceptor, std::shared_ptr<TlsContext> tls,
           Accepted accepted)
      : threads_(threads),
        loop_(loop),
        acceptor_(std::move(acceptor)),
        pause_(loop.context()),
        shared_(std::make_shared<Shared>()) {
    const tcp::endpoint bound = acceptor_.local_endpoint();
    shared_->tls = std::move(tls);
    shared_->accepted = std::move(accepted);
    shared_->address =
        NetAddress{.host = bound.address().to_string(), .port = bound.port()}.ToString();
  }
  std::string address() const override { return shared_->address; }
  void Stop() override {
    loop_.Post([self = shared_from_this()] {
      error_code ignored;
      self->acceptor_.close(ignored);
      self->pause_.cancel();
    });
  }

  void Next() {
    auto& loop = static_cast<Loop&>(threads_.Next());
    acceptor_.async_accept(loop.context(), [self = shared_from_this(), &loop](
                                               const error_code& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || !self->acceptor_.is_open()) return;
      if (error) return self->Pause(error);
      loop.Post([shared = self->shared_, &loop, socket = std::move(socket)]() mutable {
        Take(shared, loop, std::move(socket));
      });
      self->Next();
    });
  }

 private:
  // Out of descriptors, most likely: others may close theirs.
  void Pause(const error_code& error) {
    LogLimited(shared_->limiter, LogLevel::kWarning, "accept on {}: {}", shared_->address,
               error.message());
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([self = shared_from_this()](const error_code& stopped) {
      if (!stopped && self->acceptor_.is_open()) self->Next();
    });
  }
  static void Take(const std::shared_ptr<Shared>& shared, Loop& loop, tcp::socket socket) {
    if (shared->tls == nullptr)
      return shared->accepted(std::make_unique<PlainWire>(loop, std::move(socket)));
    auto wire = std::make_shared<std::unique_ptr<TlsWire>>(
        std::make_unique<TlsWire>(loop, std::move(socket), shared->tls));
    (*wire)->After(kTlsTimeout, [wire] {
      if (*wire != nullptr) (*wire)->Close();
    });
    (*wire)->Handshake(true, [shared, wire](const error_code& error) {
      if (!error) return shared->accepted(std::move(*wire));
      LogLimited(shared->limiter, LogLevel::kWarning, "TLS with {}: {}", (*wire)->peer(),
                 error.message());
      *wire = nullptr;
    });
  }

  IoThreads& threads_;
  Loop& loop_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  const std::shared_ptr<Shared> shared_;
};

absl::StatusOr<std::unique_ptr<Listener>> IoThreads::Listen(const std::string& address,
                                                            std::shared_ptr<TlsContext> tls,
                                                            Accepted accepted) {
  HR_ASSIGN_OR_RETURN(const NetAddress at, ParseNetAddress(address));
  if (at.is_unix()) return InvalidArgument("{}: the transport tcp takes host:port", address);
  auto& loop = static_cast<Loop&>(Next());
  error_code error;
  tcp::endpoint endpoint(asio::ip::make_address(at.host, error), at.port);
  if (error) {
    tcp::resolver resolver(loop.context());
    const auto found =
        resolver.resolve(at.host, std::to_string(at.port), tcp::resolver::passive, error);
    if (error || found.empty()) return Unavailable("listen on {}: {}", address, error.message());
    endpoint = found.begin()->endpoint();
  }
  tcp::acceptor acceptor(loop.context());
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return Unavailable(
        "cannot listen on {}: {}; set tcp_listen to another, or to port 0 to have a "
        "free one chosen",
        address, error.message());
  }
  auto own = std::make_shared<Acceptor>(*this, loop, std::move(acceptor), std::move(tls),
                                        std::move(accepted));
  loop.Post([own] { own->Next(); });
  // The listener that the caller holds; the acceptor itself lives with its callbacks.
  class Handle final : public Listener {
   public:
    explicit Handle(std::shared_ptr<Listener> acceptor) : acceptor_(std::move(acceptor)) {}
    ~Handle() override { acceptor_->Stop(); }
    std::string address() const override { return acceptor_->address(); }
    void Stop() override { acceptor_->Stop(); }

   private:
    const std::shared_ptr<Listener> acceptor_;
  };
  return std::make_unique<Handle>(std::move(own));
}

}  // namespace headrace::tcp
