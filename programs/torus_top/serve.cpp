// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_top/serve.h"

#include <fmt/format.h>
#include <httplib.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "programs/torus_top/admission.h"
#include "programs/torus_top/forms.h"
#include "programs/torus_top/page.h"

namespace torusmp::torus_top {
namespace {

constexpr std::chrono::milliseconds look_around{100};

std::atomic<bool> interrupted{false};

void on_signal(int) {
    interrupted = true;
}

// The state for the server's threads, written by the thread that reads the feed.
class Board {
  public:
    void put(std::string json, std::string metrics) {
        const std::lock_guard lock(mutex_);
        json_ = std::move(json);
        metrics_ = std::move(metrics);
        ++version_;
        changed_.notify_all();
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    std::string json() const {
        const std::lock_guard lock(mutex_);
        return json_;
    }
    std::string metrics() const {
        const std::lock_guard lock(mutex_);
        return metrics_;
    }
    // Waits for the state after `seen`; an empty text means that none came within that time.
    // Returns false after the last one.
    bool next(std::uint64_t& seen, std::string& json, std::chrono::milliseconds timeout) const {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, timeout, [&] { return closed_ || version_ != seen; });
        if (closed_) return false;
        json.clear();
        if (version_ != seen) json = json_;
        seen = version_;
        return true;
    }

  private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::string json_, metrics_;
    std::uint64_t version_ = 0;
    bool closed_ = false;
};

class Server {
  public:
    Server(const ServeOptions& options, const Board& board)
        : options_(options),
          board_(board),
          token_(options.token_file.empty() ? random_token() : token_in(options.token_file)) {
        // Each event stream occupies a thread.
        http_.new_task_queue = [] { return new httplib::ThreadPool(Streams::most + 16); };
        http_.set_keep_alive_timeout(5);
        // Binding to a port in use must fail instead of sharing the port.
        http_.set_socket_options([](int socket) {
            const int yes = 1;
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        });
        http_.set_pre_routing_handler([this](const auto& request, auto& response) {
            return may_come(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                               : httplib::Server::HandlerResponse::Handled;
        });
        http_.Get("/", [](const auto&, auto& response) {
            response.set_header("Content-Security-Policy",
                                "default-src 'none'; script-src 'unsafe-inline'; style-src "
                                "'unsafe-inline'; connect-src 'self'; img-src data:");
            response.set_content(page_text.data(), page_text.size(), "text/html; charset=utf-8");
        });
        http_.Get("/api/state", [this](const auto&, auto& response) {
            response.set_header("Cache-Control", "no-store");
            response.set_content(board_.json(), "application/json");
        });
        http_.Get("/metrics", [this](const auto&, auto& response) {
            response.set_content(board_.metrics(),
                                 "application/openmetrics-text; version=1.0.0; charset=utf-8");
        });
        http_.Get("/api/events", [this](const auto& request, auto& response) {
            response.set_header("Cache-Control", "no-store");
            const auto ticket = streams_.open(request.remote_addr);
            if (!ticket) return too_many_streams(response);
            response.set_chunked_content_provider(
                "text/event-stream", [this, ticket, seen = std::uint64_t(0)](
                                         std::size_t, httplib::DataSink& sink) mutable {
                    std::string json;
                    if (!board_.next(seen, json, std::chrono::seconds(5))) return false;
                    const std::string event =
                        json.empty() ? ": still here\n\n" : fmt::format("data: {}\n", json);
                    return sink.write(event.data(), event.size());
                });
        });
        port_ = options.port != 0 ? options.port : http_.bind_to_any_port(options.address);
        if (port_ < 0 || (options.port != 0 && !http_.bind_to_port(options.address, options.port)))
            throw std::runtime_error(
                fmt::format("--serve {}:{}: {}; another program may use that port; port 0 selects "
                            "a free one",
                            options.address, options.port, std::strerror(errno)));
        const bool six = options.address.find(':') != std::string::npos;
        where_ = fmt::format("http://{}:{}/?token={}",
                             six ? "[" + options.address + "]" : options.address, port_, token_);
        thread_ = std::thread([this] { http_.listen_after_bind(); });
    }
    ~Server() {
        http_.stop();
        thread_.join();
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    const std::string& where() const { return where_; }

  private:
    static void too_many_streams(httplib::Response& response) {
        response.status = 503;
        response.set_header("Retry-After", "5");
        response.set_content(
            fmt::format("too many streams of events are open (at most {}, and {} of one client): "
                        "close a page or retry later\n",
                        Streams::most, Streams::most_of_one_client),
            "text/plain");
    }

    // The token excludes other users of this host, and the check of the Host header excludes pages
    // of other sites, which may make a browser send requests here.
    bool may_come(const httplib::Request& request, httplib::Response& response) const {
        response.set_header("X-Content-Type-Options", "nosniff");
        response.set_header("Referrer-Policy", "no-referrer");
        if (!options_.open_to_others &&
            !names_this_host(request.get_header_value("Host"), options_.address)) {
            response.status = 403;
            response.set_content(
                "expected a loopback address or localhost as the name of the host\n", "text/plain");
            return false;
        }
        if (same_secret(request.get_param_value("token"), token_) ||
            same_secret(request.get_header_value("Authorization"), "Bearer " + token_))
            return true;
        response.status = 401;
        response.set_content(
            "expected the token that torus-top has printed, as ?token=... or as a bearer token\n",
            "text/plain");
        return false;
    }

    const ServeOptions& options_;
    const Board& board_;
    const std::string token_;
    Streams streams_;
    httplib::Server http_;
    int port_ = 0;
    std::string where_;
    std::thread thread_;
};

}  // namespace

int serve(Feed& feed, JobView& view, const ServeOptions& options, Recorder* recorder) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, on_signal);
    Board board;
    board.put(to_json(view), to_open_metrics(view));
    {
        const Server server(options, board);
        fmt::print("torus-top: serving job {} at {}\n", view.job().pid, server.where());
        std::fflush(stdout);
        while (!interrupted) {
            bool news = false;
            if (const auto sample = feed.next(look_around)) {
                if (recorder != nullptr) recorder->add(*sample);
                view.apply(*sample);
                news = true;
            } else if (feed.over()) {
                news = feed.exit_code() && !view.exit_code;
                view.exit_code = feed.exit_code();
                std::this_thread::sleep_for(look_around);
            }
            if (news) board.put(to_json(view), to_open_metrics(view));
        }
        board.close();
    }
    return 0;
}

}  // namespace torusmp::torus_top
