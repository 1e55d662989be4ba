// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_top/forms.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>

namespace torusmp::torus_top {

using torus_run::RankRecord;

namespace {

// Quotes a string; bytes outside ASCII are passed through as UTF-8.
std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += {'\\', c};
        else if (static_cast<unsigned char>(c) < 0x20)
            out += fmt::format("\\u{:04x}", int(static_cast<unsigned char>(c)));
        else
            out += c;
    }
    return out + '"';
}

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
    return out + '"';
}

std::string label(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\n')
            out += "\\n";
        else if (c == '"' || c == '\\')
            out += {'\\', c};
        else
            out += c;
    }
    return out;
}

template <class Items, class Write>
std::string joined(const Items& items, Write&& write) {
    std::string text;
    for (const auto& item : items) {
        if (!text.empty()) text += ',';
        text += write(item);
    }
    return text;
}

std::string to_json(const JobView& view, const RankView& rank) {
    const RankRecord& it = rank.record;
    return fmt::format(
        "{{\"rank\":{},\"host\":{},\"pid\":{},\"state\":{},\"seconds\":{:.3f},\"call\":{},"
        "\"waits_for\":{},\"peer\":{},\"tag\":{},\"bytes\":{},\"text\":{},\"cpu\":{:.3f},"
        "\"out\":{:.0f},\"in\":{:.0f},\"messages\":{:.1f},\"posted\":{},\"unexpected\":{},"
        "\"requests\":{},\"collectives\":{},\"accesses\":{:.1f},\"accesses_direct\":{},"
        "\"accesses_sent\":{},\"accesses_served\":{},\"accesses_open\":{},\"lock_waits\":{},"
        "\"slowest\":{},\"busiest\":{}}}",
        it.rank, json_string(rank.host), it.pid, json_string(torus_run::name_of(it.state)),
        view.seconds_in_state(rank), json_string(it.call.data()),
        json_string(torus_run::name_of(it.wait)), it.peer, it.tag, it.bytes,
        json_string(view.describe(rank)), rank.cpu, rank.out, rank.in, rank.messages, it.posted,
        it.unexpected, it.requests, it.collectives, rank.accesses, it.windows.direct,
        it.windows.sent, it.windows.served, it.windows.open, it.windows.lock_waits, rank.slowest,
        rank.busiest);
}

std::string to_json(const LinkView& it) {
    const core::WayCounts& n = it.counts;
    return fmt::format(
        "{{\"from\":{},\"to\":{},\"way\":{},\"transport\":{},\"cable\":{},\"down\":{},"
        "\"detour\":{},\"rate\":{:.0f},\"load\":{:.4f},\"share\":{},\"packets_rate\":{:.1f},"
        "\"messages_rate\":{:.1f},\"relayed_rate\":{:.0f},\"packets\":{},\"bytes\":{},"
        "\"written\":{},\"read\":{},\"eager_messages\":{},\"eager_bytes\":{},"
        "\"rendezvous_messages\":{},\"relayed_packets\":{},\"relayed_bytes\":{},"
        "\"credit_waits\":{},\"resent\":{},\"device\":{},\"damaged\":{},\"dropped\":{},"
        "\"busiest\":{}}}",
        it.from, it.to, json_string(way_name(it.way)), json_string(n.transport.data()),
        it.is_link(), (n.flags & core::way_is_down) != 0, (n.flags & core::way_detours) != 0,
        it.out, it.load, it.share < 0 ? std::string("null") : fmt::format("{:.4f}", it.share),
        it.packets, it.messages, it.relayed, n.packets_sent, n.bytes_sent, n.bytes_written,
        n.bytes_read, n.eager_messages, n.eager_bytes, n.rendezvous_messages, n.relayed_packets,
        n.relayed_bytes, n.credit_waits, n.resent,
        json_string(it.device != nullptr ? it.device->name.data() : ""),
        it.device != nullptr ? it.device->damaged : 0,
        it.device != nullptr ? it.device->dropped : 0, it.busiest);
}

std::string to_json(const Totals& it) {
    return fmt::format(
        "{{\"seconds\":{:.3f},\"rate\":{:.0f},\"messages\":{:.1f},\"cpu\":{:.3f},\"waiting\":{},"
        "\"computing\":{},\"active\":{},\"other\":{},\"faults\":{}}}",
        it.seconds, it.out, it.messages, it.cpu, it.waiting, it.computing, it.active, it.other,
        it.faults);
}

// Writes metric families, with a sample for each item that has a value.
class Metrics {
  public:
    void family(std::string_view name, std::string_view type, std::string_view help) {
        name_ = fmt::format("torusmp_{}", name);
        suffix_ = type == "counter" ? "_total" : "";
        text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, type);
    }
    void sample(const std::string& labels, double value) {
        text_ += fmt::format("{}{}{{{}}} {}\n", name_, suffix_, labels, value);
    }
    void counter(const std::string& labels, std::uint64_t value) {
        text_ += fmt::format("{}{}{{{}}} {}\n", name_, suffix_, labels, value);
    }
    std::string take() { return std::move(text_) + "# EOF\n"; }

  private:
    std::string text_, name_, suffix_;
};

struct LinkCounter {
    const char *name, *help;
    std::uint64_t core::WayCounts::*value;
};
constexpr LinkCounter link_counters[] = {
    {"link_packets_sent", "Packets sent on a link.", &core::WayCounts::packets_sent},
    {"link_bytes_sent", "Payload of packets sent on a link.", &core::WayCounts::bytes_sent},
    {"link_bytes_written", "Bytes of remote writes.", &core::WayCounts::bytes_written},
    {"link_bytes_read", "Bytes of remote reads.", &core::WayCounts::bytes_read},
    {"link_eager_messages", "Small messages sent.", &core::WayCounts::eager_messages},
    {"link_rendezvous_messages", "Large messages sent.", &core::WayCounts::rendezvous_messages},
    {"link_relayed_packets", "Packets passed on for other ranks.",
     &core::WayCounts::relayed_packets},
    {"link_relayed_bytes", "Payload of packets passed on for other ranks.",
     &core::WayCounts::relayed_bytes},
    {"link_credit_waits", "Packets that had to wait for a credit.", &core::WayCounts::credit_waits},
    {"link_resent", "Packets and writes sent again after a cable died.", &core::WayCounts::resent},
};

struct WindowCounter {
    const char *name, *help;
    std::uint64_t core::WindowCounts::*value;
};
constexpr WindowCounter window_counters[] = {
    {"rank_accesses_direct", "Accesses to windows by loads, stores or copies of the kernel.",
     &core::WindowCounts::direct},
    {"rank_accesses_sent", "Accesses to windows in packets or messages.",
     &core::WindowCounts::sent},
    {"rank_accesses_served", "Accesses of other ranks that arrived in packets or messages.",
     &core::WindowCounts::served},
};

std::string labels_of(const JobView& view, const RankView& rank) {
    return fmt::format("job=\"{}\",rank=\"{}\",host=\"{}\"", view.job().pid, rank.record.rank,
                       label(rank.host));
}

std::string labels_of(const JobView& view, const LinkView& link) {
    return fmt::format("{},way=\"{}\",to=\"{}\",transport=\"{}\"",
                       labels_of(view, view.ranks()[std::size_t(link.from)]), way_name(link.way),
                       link.to < 0 ? std::string("several") : std::to_string(link.to),
                       label(link.counts.transport.data()));
}

}  // namespace

std::string to_json(const JobView& view) {
    const torus_run::JobDescription& job = view.job();
    const auto number = [](int n) { return std::to_string(n); };
    return fmt::format(
        "{{\"version\":1,\"job\":{{\"pid\":{},\"started\":{},\"program\":{},\"host\":{},"
        "\"size\":{},\"dims\":[{}],\"periodic\":[{}],\"hosts\":[{}]}},\"exit_code\":{},"
        "\"totals\":{},\"ranks\":[{}],\"links\":[{}]}}\n",
        job.pid, job.started, json_string(job.program), json_string(job.host), job.size,
        joined(job.dims, number), joined(job.periodic, number),
        joined(job.hosts, [](const std::string& host) { return json_string(host); }),
        view.exit_code ? std::to_string(*view.exit_code) : "null", to_json(view.totals()),
        joined(view.ranks(), [&](const RankView& it) { return to_json(view, it); }),
        joined(view.links(), [](const LinkView& it) { return to_json(it); }));
}

std::string ranks_to_csv(const JobView& view) {
    std::string text =
        "rank,host,pid,state,seconds,call,waits_for,peer,tag,bytes,cpu,out_bytes_per_s,"
        "in_bytes_per_s,messages_per_s,posted,unexpected,requests,collectives,slowest,busiest,"
        "accesses_per_s,accesses_direct,accesses_sent,accesses_served,accesses_open,lock_waits\n";
    for (const RankView& rank : view.ranks()) {
        const RankRecord& it = rank.record;
        text += fmt::format(
            "{},{},{},{},{:.3f},{},{},{},{},{},{:.3f},{:.0f},{:.0f},{:.1f},{},{},{},{},"
            "{:d},{:d},{:.1f},{},{},{},{},{}\n",
            it.rank, csv_field(rank.host), it.pid, torus_run::name_of(it.state),
            view.seconds_in_state(rank), csv_field(it.call.data()), torus_run::name_of(it.wait),
            it.peer, it.tag, it.bytes, rank.cpu, rank.out, rank.in, rank.messages, it.posted,
            it.unexpected, it.requests, it.collectives, rank.slowest, rank.busiest, rank.accesses,
            it.windows.direct, it.windows.sent, it.windows.served, it.windows.open,
            it.windows.lock_waits);
    }
    return text;
}

std::string links_to_csv(const JobView& view) {
    std::string text =
        "from,to,way,transport,bytes_per_s,share,packets_per_s,messages_per_s,packets,bytes,"
        "written,"
        "read,eager_messages,rendezvous_messages,relayed_packets,relayed_bytes,credit_waits,resent,"
        "down,detour,damaged,dropped\n";
    for (const LinkView& it : view.links()) {
        const core::WayCounts& n = it.counts;
        text += fmt::format(
            "{},{},{},{},{:.0f},{},{:.1f},{:.1f},{},{},{},{},{},{},{},{},{},{},{:d},{:d},{},{}\n",
            it.from, it.to, way_name(it.way), csv_field(n.transport.data()), it.out,
            it.share < 0 ? std::string() : fmt::format("{:.4f}", it.share), it.packets, it.messages,
            n.packets_sent, n.bytes_sent, n.bytes_written, n.bytes_read, n.eager_messages,
            n.rendezvous_messages, n.relayed_packets, n.relayed_bytes, n.credit_waits, n.resent,
            (n.flags & core::way_is_down) != 0, (n.flags & core::way_detours) != 0,
            it.device != nullptr ? it.device->damaged : 0,
            it.device != nullptr ? it.device->dropped : 0);
    }
    return text;
}

std::string to_open_metrics(const JobView& view) {
    Metrics metrics;
    const auto links = view.links();
    const auto of_ranks = [&](const char* name, const char* help,
                              const std::function<double(const RankView&)>& value) {
        metrics.family(name, "gauge", help);
        for (const RankView& rank : view.ranks())
            metrics.sample(labels_of(view, rank), value(rank));
    };
    metrics.family("rank_state", "stateset", "State of a rank.");
    for (const RankView& rank : view.ranks())
        for (int i = 0; i <= int(torus_run::RankState::ended); ++i)
            metrics.sample(fmt::format("{},torusmp_rank_state=\"{}\"", labels_of(view, rank),
                                       torus_run::name_of(torus_run::RankState(i))),
                           int(rank.record.state) == i ? 1 : 0);
    of_ranks("rank_state_seconds", "Time since a rank entered its state.",
             [&](const RankView& it) { return view.seconds_in_state(it); });
    of_ranks("rank_posted_receives", "Receives that have no message yet.",
             [](const RankView& it) { return double(it.record.posted); });
    of_ranks("rank_unexpected_messages", "Messages that have no receive yet.",
             [](const RankView& it) { return double(it.record.unexpected); });
    of_ranks("rank_open_requests", "Requests that are not complete.",
             [](const RankView& it) { return double(it.record.requests); });
    of_ranks("rank_collectives", "Collective operations in progress.",
             [](const RankView& it) { return double(it.record.collectives); });
    of_ranks("rank_open_accesses", "Accesses to windows that are not complete.",
             [](const RankView& it) { return double(it.record.windows.open); });
    of_ranks("rank_lock_waits", "Requests for locks of windows that wait at a rank.",
             [](const RankView& it) { return double(it.record.windows.lock_waits); });
    for (const WindowCounter& counter : window_counters) {
        metrics.family(counter.name, "counter", counter.help);
        for (const RankView& rank : view.ranks())
            metrics.counter(labels_of(view, rank), rank.record.windows.*counter.value);
    }
    metrics.family("rank_cpu_seconds", "counter", "Processor time.");
    for (const RankView& rank : view.ranks())
        metrics.sample(labels_of(view, rank), double(rank.record.cpu) / 1e9);
    for (const LinkCounter& counter : link_counters) {
        metrics.family(counter.name, "counter", counter.help);
        for (const LinkView& link : links)
            metrics.counter(labels_of(view, link), link.counts.*counter.value);
    }
    metrics.family("link_bytes_per_second", "gauge", "Traffic over a link in its direction.");
    for (const LinkView& link : links) metrics.sample(labels_of(view, link), link.out);
    metrics.family("link_fault", "gauge", "1 if a cable is dead or damages packets.");
    for (const LinkView& link : links) metrics.sample(labels_of(view, link), link.faulty() ? 1 : 0);
    return metrics.take();
}

}  // namespace torusmp::torus_top
