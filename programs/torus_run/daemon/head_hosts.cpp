// SPDX-License-Identifier: BSD-3-Clause
// The head's part with the daemons of the other hosts: their frames, and their loss.
#include <fmt/format.h>

#include "base/units.h"
#include "core/transport/common/settings.h"
#include "programs/torus_run/daemon/ending.h"
#include "programs/torus_run/daemon/head.h"
#include "programs/torus_run/front/order.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {

void Head::send(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) {
    repair_ ? repair_->send(kind, node, bytes) : child_daemons_.send(kind, node, bytes);
}

void Head::daemon_greeted(int node) {
    if (repair_) return repair_->joined(head_node(job_), node);
    ways_.greeted(node);
    child_daemons_.send(DaemonFrame::plan, std::uint32_t(node),
                        share(encode(make_order(job_, tree_, node))));
    if (job_.verbose) outputs_.print(fmt::format("torus-run: reached host {}\n", host(node).name));
}

void Head::daemon_frame(Frame& frame) {
    const int node = int(frame.header.sequence);
    if (node < 0 || node >= int(job_.hosts.size())) return;
    try {
        if (!repair_ || !repair_->heard(node, frame)) understand(node, frame);
    } catch (const PackingError& error) {
        daemon_lost(node, fmt::format("is lost: {}", error.what()));
    }
}

void Head::understand(int node, Frame& frame) {
    Unpacker body(frame.body);
    switch (DaemonFrame(frame.header.kind)) {
        case DaemonFrame::greeted:
            return daemon_greeted(node);
        case DaemonFrame::facts:
            return preflight_.answered(node, decode_facts(frame.body));
        case DaemonFrame::event:
            return coordinator_.handle_event(decode_event(frame.body));
        case DaemonFrame::output:
            return remote_output_.printed(node, body);
        case DaemonFrame::output_ended:
            return remote_output_.ended(body);
        case DaemonFrame::input_taken:
            return input_ ? input_->taken(std::size_t(body.get<std::uint64_t>())) : void();
        case DaemonFrame::input_closed:
            return input_ ? input_->close() : void();
        case DaemonFrame::done:
            return void(ends_[node] = decode_end(frame.body));
        case DaemonFrame::unheard:
            return unheard(node);
        case DaemonFrame::plugged:
            return void(plugged_.insert(node));
        case DaemonFrame::link_trouble:
            return coordinator_.link_trouble(node, decode_trouble(frame.body));
        case DaemonFrame::sample:
            return monitor_.take(node, decode_sample(frame.body), false);
        case DaemonFrame::lost:
            return daemon_lost(node, body.text());
        default:
            return;  // alive: only its arrival matters
    }
}

void Head::daemon_cut(int node, Cut how, const std::string& why) {
    if (!ending_) repair_->cut(head_node(job_), node, how, why);
}

void Head::daemon_lost(int node, const std::string& why) {
    if (ending_) return;
    if (coordinator_.has_started()) return node_lost(node, why);
    if (tree_.over_links && !ways_.has_greeted(node)) {
        const bool another_way = ways_.failed(node);
        tree_changed({0, ways_.parents(), {}});
        if (another_way) return;
    }
    preflight_.failed(node, why, ways_.others_that_tried(node), ways_.behind(node));
}

void Head::send_down(DaemonFrame kind, std::uint32_t node, const SharedBytes& bytes) {
    child_daemons_.send(kind, node, bytes);
}

void Head::tree_frame(int node, Frame& frame) {
    if (!repair_->heard(node, frame)) understand(node, frame);
}

// Notifies the other daemons first, because a child that is connected is joined immediately.
void Head::tree_changed(const TreeWays& ways) {
    tree_.parents = ways.parents;
    child_daemons_.send(DaemonFrame::ways, every_node, share(encode(ways)));
    child_daemons_.follow(ways);
}

void Head::node_joined(int parent, int node) {
    if (!job_.verbose) return;
    const std::string over = parent < 0 ? "" : ", over host " + host(parent).name;
    outputs_.print(fmt::format("torus-run: reached host {} again{}\n", host(node).name, over));
}

void Head::node_lost(int node, const std::string& why) {
    if (!ending_) coordinator_.host_lost(node, why, ways_.behind(node));
}

// A host ended its ranks because it received nothing from the head: reports which side was
// asleep.
void Head::unheard(int node) {
    const std::chrono::nanoseconds timeout = job_.settings[transport::setting::timeout];
    const auto slept = pulse_.longest_sleep(Clock::now());
    if (ending_ || 2 * slept < timeout)
        return daemon_lost(
            node, fmt::format("is lost: it received nothing from torus-run for longer than "
                              "transport.timeout = {}",
                              base::format_time(timeout)));
    coordinator_.host_lost(node, own_sleep_message(slept, timeout));
}

void Head::daemon_output(int node, const std::string& text) {
    if (!job_.verbose) return;
    const char* const end = text.ends_with('\n') ? "" : "\n";
    outputs_.print(fmt::format("torus-run: host {}: {}{}", host(node).name, text, end));
}

}  // namespace torusmp::torus_run
