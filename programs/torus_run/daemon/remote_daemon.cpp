// SPDX-License-Identifier: BSD-3-Clause
// The daemon of a host that an agent reached: starts the ranks on the head's command, and reports
// their events to the head. Where the torus is the only network, it also starts the daemons of the
// next hosts, and forwards frames between them and the head.
#include <fmt/format.h>

#include <stdexcept>

#include "base/descriptor.h"
#include "config/load.h"
#include "job/settings.h"
#include "programs/torus_run/daemon/attention.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/daemon/head_connection.h"
#include "programs/torus_run/daemon/head_daemon.h"
#include "programs/torus_run/daemon/link_watch.h"
#include "programs/torus_run/daemon/plug_watch.h"
#include "programs/torus_run/daemon/prepare.h"
#include "programs/torus_run/daemon/pulse.h"
#include "programs/torus_run/daemon/signals.h"
#include "programs/torus_run/front/order.h"
#include "programs/torus_run/streams/input.h"
#include "programs/torus_run/streams/packing.h"
#include "programs/torus_run/streams/piped_program.h"
#include "programs/torus_run/streams/text.h"
#include "programs/torus_run/tree/child_daemons.h"
#include "programs/torus_run/tree/joining.h"
#include "programs/torus_run/tree/lasting.h"

namespace torusmp::torus_run {
namespace {

// Bytes in flight to the head for each output stream. A slow reader there blocks the ranks here.
constexpr std::uint64_t output_window = 256 * 1024;

class RemoteDaemon : private Attention::Listener,
                     private LocalRanks::Listener,
                     private ChildDaemons::Listener,
                     private InputSink::Listener {
  public:
    RemoteDaemon(std::chrono::milliseconds timeout, DaemonContext context)
        : timeout_(timeout),
          context_(std::move(context)),
          head_(loop_, [this] { hear_head(); }),
          attention_(loop_, context_, *this),
          pulse_(timeout),
          last_heard_(Clock::now()) {}

    int run() {
        while (!finishing_ && !alone_) step();
        end_everything();
        return 0;
    }

  private:
    // ---- the loop ----

    void step() {
        auto next = ranks_ ? ranks_->next_tick() : std::nullopt;
        if (plugs_ && plugs_->next())
            next = next ? std::min(*next, *plugs_->next()) : plugs_->next();
        attention_.step(pulse_.wait(next, true));
        const auto now = Clock::now();
        if (pulse_.beat(now) && order_) beat();
        last_heard_ += std::chrono::duration_cast<Clock::duration>(pulse_.asleep());
        if (now - last_heard_ > timeout_) silent_head(now);
        if (child_daemons_) {
            child_daemons_->tick(now, pulse_.asleep());
            child_daemons_->drop(false);
        }
        if (!plugs_) return;
        std::vector<LinkTrouble> troubles;
        if (ranks_) {
            ranks_->tick(now, pulse_.asleep());
            troubles = links_->look(now, &ranks_->pages());
        }
        plugs_->look(now, troubles);
        for (const LinkTrouble& trouble : troubles)
            send_to_head(DaemonFrame::link_trouble, share(encode(trouble)));
        if (!ranks_ && !plugged_ && plugs_->complete()) {
            plugged_ = true;
            send_to_head(DaemonFrame::plugged, nullptr);
        }
    }

    // Also pings the daemons below: those cut off together with this host still hear from it.
    void beat() {
        send_to_head_now(DaemonFrame::alive, streams_ ? streams_->taken() : nullptr);
        if (streams_) child_daemons_->send(DaemonFrame::ping, every_node, nullptr);
    }

    // If the cable to the head is dead, this host will be reached over another one.
    void silent_head(Clock::time_point now) {
        if (!streams_) return give_up_the_head();
        head_.close();
        if (now - last_heard_ > timeout_ + Pulse::login_timeout(timeout_))
            leave("torus-run was silent for too long and did not connect over another cable");
    }

    // The head may only be stopped, and read this later.
    void give_up_the_head() {
        if (order_) send_to_head_now(DaemonFrame::unheard, nullptr);
        leave("torus-run was silent for too long");
    }

    // A user of this host ends this daemon, and with it everything that it started.
    void user_signal(int signal) override {
        if (ends_programs(signal)) leave(fmt::format("it received {}", signal_name(signal)));
    }
    void front_gone() override { alone_ = true; }
    void child_changed(pid_t pid, int status, std::uint64_t memory) override {
        if (ranks_ && ranks_->reaped(pid, status, memory)) return;
        if (probe_ && probe_->reaped(pid, status)) return;
        if (child_daemons_) child_daemons_->reaped(pid, status);
    }

    // The head prints what a lost host wrote to standard error.
    void leave(const std::string& why) {
        if (!alone_) fmt::print(stderr, "torus-run: the daemon of this host exits: {}\n", why);
        alone_ = true;
    }

    // ---- the head, or the daemon in between ----

    // Another host has connected to this daemon. At the end the connection stays over which the
    // order to end came.
    void join(base::Descriptor input, base::Descriptor output) {
        if (finishing_) return;
        send_to_head_now(DaemonFrame::leaving, nullptr);
        try {
            head_.join(std::move(input), std::move(output));
        } catch (const std::runtime_error&) {
            return;  // the new connection is already closed
        }
        last_heard_ = Clock::now();
        heard_since_join_ = false;
    }

    void hear_head() {
        const bool more = head_.receive();
        Frame frame;
        while (!alone_ && head_.next(frame)) {
            last_heard_ = Clock::now();
            heard_since_join_ = true;
            try {
                route(frame);
            } catch (const PackingError&) {
                alone_ = true;
            }
        }
        // An agent that has given up a dead cable, or a way that came too late and was dropped.
        const bool silent =
            !heard_since_join_ || Clock::now() - last_heard_ > Pulse::silence(timeout_);
        if (!more && streams_ && !finishing_ && silent) return head_.close();
        if (!more || head_.damaged()) alone_ = true;
        if (alone_) head_.close();
    }

    void route(Frame& frame) {
        const std::uint32_t to = frame.header.sequence;
        const bool mine = !order_ || to == every_node || to == std::uint32_t(order_->job.node);
        if (mine) understand(frame);
        if (child_daemons_ && (!mine || to == every_node))
            child_daemons_->send(DaemonFrame(frame.header.kind), to, share(frame.body));
    }

    void understand(Frame& frame) {
        Unpacker body(frame.body);
        const auto kind = DaemonFrame(frame.header.kind);
        if (kind == DaemonFrame::plan) return prepare(decode_order(frame.body));
        if (kind == DaemonFrame::ways && child_daemons_)
            return child_daemons_->follow(decode_ways(frame.body));
        if (kind == DaemonFrame::finish) {
            finishing_ = true;
            return;
        }
        if (streams_) {
            if (kind == DaemonFrame::taken) return streams_->confirmed(frame.body);
            if (kind == DaemonFrame::resume) return resume(frame.body);
            if (kind == DaemonFrame::lasting) {
                if (auto inner = streams_->take(frame.body)) understand(*inner);
                return;
            }
        }
        if (kind == DaemonFrame::probe && order_) return start_probe(body.texts());
        if (kind == DaemonFrame::probe_input && probe_) return probe_->send(text_of(body.rest()));
        if (kind == DaemonFrame::probe_over) return probe_.reset();
        if (kind == DaemonFrame::start && order_) return start(decode_start(frame.body));
        if (!ranks_) return;
        switch (kind) {
            case DaemonFrame::signal:
                return ranks_->signal(body.get<int>());
            case DaemonFrame::question:
                return ranks_->question();
            case DaemonFrame::stand_in: {
                const int rank = body.get<int>();
                return ranks_->stand_in(rank, body.get<std::uint32_t>());
            }
            case DaemonFrame::terminate:
                return ranks_->terminate();
            case DaemonFrame::watch:
                return ranks_->pages().watch(std::chrono::milliseconds(body.get<std::uint32_t>()));
            case DaemonFrame::answer: {
                const launch::FrameHeader header{body.get<std::uint32_t>(),
                                                 body.get<std::uint32_t>(), 0};
                const auto bytes = body.rest();
                return ranks_->answer(header, share({bytes.begin(), bytes.end()}));
            }
            case DaemonFrame::deaths:
                return ranks_->send_deaths(share(std::move(frame.body)));
            case DaemonFrame::over:
                return ranks_->send_end(body.text());
            case DaemonFrame::input:
                if (input_) input_->take(body.rest());
                return;
            case DaemonFrame::output_taken: {
                const auto stream = body.get<std::uint32_t>();
                return output_taken(stream, body.get<std::uint64_t>());
            }
            case DaemonFrame::close_output:
                if (const auto stream = body.get<std::uint32_t>(); stream < streams)
                    ranks_->streams().close(int(stream));
                return;
            default:
                return;  // ping: only its arrival matters
        }
    }

    void prepare(HostOrder order) {
        if (order_) return;
        order_ = std::move(order);
        if (!order_->parents.empty()) {
            ChildDaemons::Listener& listener = *this;
            child_daemons_.emplace(loop_, order_->job.node, *order_, order_->job.timeout, listener);
            child_daemons_->start();
        }
        Prepared prepared = prepare_remote_host(*order_);
        cpus_ = std::move(prepared.cpus);
        send_to_head(DaemonFrame::facts, share(encode(prepared.facts)));
        if (!order_->job.programs.empty()) watch_plugs();
    }

    void watch_plugs() {
        plugs_.emplace(loop_, config::load_for_rank(job::schema(), {}, order_->job.environment),
                       order_->job.node, order_->job.secret);
    }

    void start(HostStart start) {
        if (ranks_) return;
        if (start.shared_machine) unbind(order_->job.bind, cpus_);
        order_->job.dead_cables = std::move(start.dead_cables);
        for (const std::string& variable : start.settings)
            set_variable(order_->job.environment, variable);
        int standard_input = attention_.null();
        if (!order_->job.ranks.empty() && order_->job.ranks.front() == 0) {
            InputSink::Listener& taker = *this;
            input_.emplace(loop_, taker);
            standard_input = input_->for_rank();
        }
        LocalRanks::Listener& listener = *this;
        ranks_.emplace(order_->job, std::move(cpus_), loop_,
                       RankWiring{context_.lifeline_read.get(), attention_.null(), standard_input,
                                  &context_.signals, &context_.files},
                       listener);
        const config::Settings settings =
            config::load_for_rank(job::schema(), {}, order_->job.environment);
        links_.emplace(settings, order_->job.node);
        if (order_->over_links) last();
        ranks_->start_all();
        if (!start.settings.empty() || !plugs_) watch_plugs();
        if (input_) input_->close_read_end();
    }

    // From now on this daemon outlives the cables between daemons: it can be joined again.
    void last() {
        const std::string name = daemon_name(order_->key, order_->job.node);
        join_point_.emplace(name, loop_, [this](base::Descriptor input, base::Descriptor output) {
            join(std::move(input), std::move(output));
        });
        streams_.emplace();
        child_daemons_->ranks_run(order_->key);
    }

    void resume(const std::vector<std::byte>& taken_by_head) {
        streams_->confirmed(taken_by_head);
        send_to_head_now(DaemonFrame::resumed, streams_->taken());
        streams_->again(
            [&](const SharedBytes& bytes) { send_to_head_now(DaemonFrame::lasting, bytes); });
    }

    // Starts a program for the torus-check or torus-setup at the head, which starts no ranks.
    void start_probe(const std::vector<std::string>& command) {
        const auto send_end = [this](const std::string& why) {
            Packer packer;
            packer.add(why);
            send_to_head(DaemonFrame::probe_ended, share(packer.take()));
        };
        try {
            probe_.emplace(
                command, loop_,
                [this](std::string_view text) {
                    Packer packer;
                    packer.append(std::as_bytes(std::span(text)));
                    send_to_head(DaemonFrame::probe_output, share(packer.take()));
                },
                [send_end](const std::string& how) { send_end("its program " + how); });
        } catch (const launch::AgentError& error) {
            send_end(error.what());
        }
    }
    static std::string_view text_of(std::span<const std::byte> bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    void send_to_head(DaemonFrame kind, SharedBytes bytes) {
        if (!streams_) return send_to_head_now(kind, std::move(bytes));
        send_to_head_now(DaemonFrame::lasting, streams_->add(kind, bytes));
    }
    void send_to_head_now(DaemonFrame kind, SharedBytes bytes) {
        head_.send({std::uint32_t(kind), std::uint32_t(order_->job.node), 0}, std::move(bytes));
    }

    // ---- ranks ----

    void sampled(Sample sample) override {
        links_->add_devices(sample);
        send_to_head(DaemonFrame::sample, share(encode(sample)));
    }

    void handle_event(RankEvent event) override {
        send_to_head(DaemonFrame::event, share(encode(event)));
    }

    void printed(int rank, int stream, std::string_view text) override {
        Packer packer;
        packer.add(rank).add(std::uint32_t(stream));
        if (text.empty()) return send_to_head(DaemonFrame::output_ended, share(packer.take()));
        packer.append(std::as_bytes(std::span(text)));
        send_to_head(DaemonFrame::output, share(packer.take()));
        on_the_way_[stream] += text.size();
        if (on_the_way_[stream] >= output_window) ranks_->streams().pause(stream, true);
    }

    void output_taken(std::uint32_t stream, std::uint64_t bytes) {
        if (stream >= streams) return;
        on_the_way_[stream] -= std::min(bytes, on_the_way_[stream]);
        if (on_the_way_[stream] < output_window / 2) ranks_->streams().pause(int(stream), false);
    }

    void input_taken(std::size_t bytes) override {
        Packer packer;
        packer.add(std::uint64_t(bytes));
        send_to_head(DaemonFrame::input_taken, share(packer.take()));
    }
    void input_closed() override { send_to_head(DaemonFrame::input_closed, nullptr); }

    // ---- daemons below ----

    void daemon_greeted(int node) override {
        if (streams_) return send_to_head(DaemonFrame::joined, share(Packer().add(node).take()));
        head_.send({std::uint32_t(DaemonFrame::greeted), std::uint32_t(node), 0}, nullptr);
    }
    void daemon_frame(Frame& frame) override {
        head_.send(frame.header, share(std::move(frame.body)));
    }
    void daemon_cut(int node, Cut how, const std::string& why) override {
        const auto bytes = Packer().add(node).add(std::uint32_t(how)).add(why).take();
        send_to_head(DaemonFrame::cut, share(bytes));
    }
    void daemon_lost(int node, const std::string& why) override {
        Packer packer;
        packer.add(why);
        head_.send({std::uint32_t(DaemonFrame::lost), std::uint32_t(node), 0},
                   share(packer.take()));
    }
    void daemon_output(int, const std::string&) override {}

    // ---- the end ----

    void end_everything() {
        HostEnd end;
        if (finishing_ && (!ranks_ || ranks_->running() == 0))
            end.left_behind = child_daemons_ ? child_daemons_->orphans() : children();
        if (ranks_) ranks_->kill();
        probe_.reset();
        end_child_daemons();
        for (const pid_t pid : kill_descendants(kill_timeout)) end.stuck.push_back(pid);
        while (ranks_ && !alone_ && end.stuck.empty() && !ranks_->streams().drain()) step();
        if (order_ && !alone_) send_to_head_now(DaemonFrame::done, share(encode(end)));
        while (!alone_ && head_.has_unsent()) step();
    }

    // The daemons below have received the command by now, or see the end of their connection.
    void end_child_daemons() {
        if (!child_daemons_) return;
        child_daemons_->give_up_waiting();
        const auto deadline = Clock::now() + kill_timeout;
        while (!alone_ && !child_daemons_->all_gone() && Clock::now() < deadline) step();
        child_daemons_->drop(true);
    }

    const std::chrono::milliseconds timeout_;
    DaemonContext context_;
    Loop loop_;
    HeadConnection head_;
    Attention attention_;
    Pulse pulse_;
    Clock::time_point last_heard_;
    bool heard_since_join_ = true;  // on the present connection
    std::optional<HostOrder> order_;
    std::vector<config::CpuList> cpus_;
    std::optional<ChildDaemons> child_daemons_;
    // Set once ranks run, where the torus is the only network.
    std::optional<NodeStreams> streams_;
    std::optional<JoinPoint> join_point_;
    std::optional<InputSink> input_;
    std::optional<LocalRanks> ranks_;
    std::optional<LinkWatch> links_;  // once there are ranks
    std::optional<PlugWatch> plugs_;
    bool plugged_ = false;
    std::optional<PipedProgram> probe_;
    std::uint64_t on_the_way_[streams] = {0, 0};  // output that the head has not acknowledged
    bool finishing_ = false;
    bool alone_ = false;  // the head or the front is gone
};

}  // namespace

int run_remote_host(std::chrono::milliseconds timeout, DaemonContext context) {
    return RemoteDaemon(timeout, std::move(context)).run();
}

}  // namespace torusmp::torus_run
