// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_top/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"

namespace torusmp::torus_top {

using torus_run::RankState;

namespace {

struct Row {
    Line line;
    std::string text;  // the text that the filter searches
};

Style style_of(RankState state) {
    switch (state) {
        case RankState::waiting:
            return Style::waiting;
        case RankState::computing:
            return Style::computing;
        case RankState::stopped:
            return Style::stopped;
        case RankState::active:
            return Style::plain;
        default:
            return Style::faint;
    }
}

Style style_of(const LinkView& link) {
    if (link.faulty()) return Style::fault;
    if (link.out <= 0) return Style::load0;
    return link.load < 0.34 ? Style::load1 : link.load < 0.67 ? Style::load2 : Style::load3;
}

std::string marks_of(const RankView& rank) {
    return rank.slowest ? "slowest" : rank.busiest ? "busiest" : "";
}

std::string faults_of(const LinkView& link) {
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
    if ((link.counts.flags & core::way_is_down) != 0) add("down");
    if ((link.counts.flags & core::way_detours) != 0) add("cable dead, on a detour");
    if (link.device != nullptr && link.device->damaged != 0)
        add(fmt::format("{} damaged", link.device->damaged));
    if (link.device != nullptr && link.device->dropped != 0)
        add(fmt::format("{} dropped", link.device->dropped));
    if (link.counts.resent != 0) add(fmt::format("{} resent", link.counts.resent));
    return text;
}

Line heading(const std::string& text) {
    return {{text, Style::heading}};
}

std::vector<const RankView*> sorted(const JobView& view, const Choice& choice) {
    std::vector<const RankView*> ranks;
    for (const RankView& rank : view.ranks()) ranks.push_back(&rank);
    const auto key = [&](const RankView& rank) -> double {
        switch (choice.order) {
            case Order::state:
                return -double(rank.record.state);
            case Order::cpu:
                return rank.cpu;
            case Order::out:
                return rank.out;
            case Order::in:
                return rank.in;
            case Order::waited:
                return view.seconds_in_state(rank);
            case Order::number:
                break;
        }
        return -double(rank.record.rank);
    };
    std::stable_sort(ranks.begin(), ranks.end(), [&](const RankView* a, const RankView* b) {
        return choice.backwards ? key(*a) < key(*b) : key(*a) > key(*b);
    });
    return ranks;
}

std::vector<Row> rank_rows(const JobView& view, const Choice& choice, Line& names) {
    const bool windows = std::any_of(view.ranks().begin(), view.ranks().end(), [](const auto& it) {
        const core::WindowCounts& counts = it.record.windows;
        return counts.direct + counts.sent + counts.served != 0;
    });
    names = heading(fmt::format("{:>5} {:<12} {:<10} {:>5} {:>11} {:>11} {:>9} {:>6} {:>6}{}  {}",
                                "RANK", "HOST", "STATE", "CPU%", "OUT", "IN", "MSG/S", "POSTED",
                                "UNEXP", windows ? fmt::format(" {:>9}", "ACCESS/S") : "", "WHAT"));
    std::vector<Row> rows;
    for (const RankView* rank : sorted(view, choice)) {
        const torus_run::RankRecord& it = rank->record;
        const std::string state = torus_run::name_of(it.state), mark = marks_of(*rank);
        const std::string what = view.describe(*rank);
        Row row;
        row.line = {
            {fmt::format("{:>5} {:<12.12} ", it.rank, rank->host)},
            {fmt::format("{:<10}", state), style_of(it.state)},
            {fmt::format(" {:>5.0f} {:>11} {:>11} {:>9.0f} {:>6} {:>6}{}  ", rank->cpu * 100,
                         rate_text(rank->out), rate_text(rank->in), rank->messages, it.posted,
                         it.unexpected, windows ? fmt::format(" {:>9.0f}", rank->accesses) : "")},
            {mark.empty() ? "" : mark + " ", Style::mark},
            {what == state ? "" : what, style_of(it.state)}};
        row.text = fmt::format("{} {} {} {} {}", it.rank, rank->host, state, mark, what);
        rows.push_back(std::move(row));
    }
    return rows;
}

std::vector<Row> node_rows(const JobView& view, Line& names) {
    struct Node {
        int ranks = 0, waiting = 0, computing = 0, stopped = 0;
        double cpu = 0, out = 0, in = 0;
        bool slowest = false;
    };
    std::vector<Node> nodes(view.job().hosts.size());
    for (const RankView& rank : view.ranks()) {
        Node& node = nodes[std::size_t(view.job().node_of[std::size_t(rank.record.rank)])];
        ++node.ranks;
        node.waiting += rank.record.state == RankState::waiting;
        node.computing += rank.record.state == RankState::computing;
        node.stopped += rank.record.state == RankState::stopped;
        node.cpu += rank.cpu;
        node.slowest |= rank.slowest;
    }
    for (const LinkView& link : view.links()) {
        if (!link.is_link()) continue;
        nodes[std::size_t(view.job().node_of[std::size_t(link.from)])].out += link.out;
        if (link.to >= 0)
            nodes[std::size_t(view.job().node_of[std::size_t(link.to)])].in += link.out;
    }
    names =
        heading(fmt::format("{:<16} {:>6} {:>8} {:>10} {:>8} {:>6} {:>11} {:>11}", "HOST", "RANKS",
                            "WAITING", "COMPUTING", "STOPPED", "CPU%", "LINKS OUT", "LINKS IN"));
    std::vector<Row> rows;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Node& it = nodes[i];
        const std::string text =
            fmt::format("{:<16.16} {:>6} {:>8} {:>10} {:>8} {:>6.0f} {:>11} {:>11}",
                        view.job().hosts[i], it.ranks, it.waiting, it.computing, it.stopped,
                        it.cpu * 100, rate_text(it.out), rate_text(it.in));
        rows.push_back({{{text, it.stopped != 0 ? Style::stopped : Style::plain},
                         {it.slowest ? "  slowest" : "", Style::mark}},
                        text});
    }
    return rows;
}

std::vector<Row> link_rows(const JobView& view, const Choice& choice, Line& names) {
    names = heading(fmt::format("{:>5} {:>5} {:<6} {:<9} {:>11} {:>6} {:>9} {:>9} {:>11} {:>8}  {}",
                                "FROM", "TO", "WAY", "OVER", "RATE", "SHARE", "MSG/S", "PACK/S",
                                "RELAYED", "CREDITS", "FAULTS"));
    std::vector<LinkView> links = view.links();
    if (choice.order != Order::number)
        std::stable_sort(links.begin(), links.end(),
                         [](const LinkView& a, const LinkView& b) { return a.out > b.out; });
    if (choice.backwards) std::reverse(links.begin(), links.end());
    std::vector<Row> rows;
    for (const LinkView& it : links) {
        const std::string to = it.to >= 0 ? std::to_string(it.to) : "-";
        const std::string faults = faults_of(it);
        Row row;
        row.line = {
            {fmt::format("{:>5} {:>5} {:<6} {:<9} ", it.from, to, way_name(it.way),
                         it.counts.transport.data())},
            {fmt::format("{:>11}", rate_text(it.out)), style_of(it)},
            {fmt::format(" {:>6} {:>9.0f} {:>9.0f} {:>11} {:>8}  ",
                         it.share >= 0 ? fmt::format("{:.0f} %", it.share * 100) : "-", it.messages,
                         it.packets, rate_text(it.relayed), it.counts.credit_waits)},
            {it.busiest ? "busiest " : "", Style::mark},
            {faults, it.faulty() ? Style::fault : Style::faint}};
        for (const Piece& piece : row.line) row.text += piece.text;
        rows.push_back(std::move(row));
    }
    return rows;
}

// Rows for a plane of the torus: each rank with the traffic of its link to the next one, both
// directions.
std::vector<Row> plane_rows(const JobView& view, const Choice& choice, Line& names) {
    const routing::Torus& torus = view.torus();
    const int across = choice.plane[0];
    const int down = torus.dimensions() > 1 ? choice.plane[1] : -1;
    std::string where;
    for (int d = 0; d < torus.dimensions(); ++d)
        if (d != across && d != down)
            where += fmt::format(", {} = {}", d, choice.position[std::size_t(d)]);
    names =
        heading(fmt::format("dimension {} across{}{}; r running, w waits, c computes, s stopped",
                            across, down >= 0 ? fmt::format(", {} down", down) : "", where));
    std::map<std::pair<int, int>, LinkView> links;
    for (const LinkView& link : view.links()) links[{link.from, link.way}] = link;
    const auto rank_at = [&](int x, int y) {
        routing::Coordinates at{};
        for (int d = 0; d < torus.dimensions(); ++d)
            at[std::size_t(d)] = choice.position[std::size_t(d)];
        at[std::size_t(across)] = x;
        if (down >= 0) at[std::size_t(down)] = y;
        return torus.rank(at);
    };
    // The link in that direction; if the cables do not form a torus, any link between the two
    // ranks.
    const auto link_between = [&](int from, int to, int way) {
        const auto usual = links.find({from, way});
        if (usual == links.end() || usual->second.to == to) return usual;
        return std::find_if(links.begin(), links.end(), [&](const auto& link) {
            return link.first.first == from && link.second.to == to;
        });
    };
    // Both directions of the link that leaves in the positive direction.
    const auto link_piece = [&](int rank, int dimension, bool level) -> Piece {
        const auto next = torus.neighbour(rank, {dimension, +1});
        if (!next) return {std::string(9, ' ')};
        const auto there = link_between(rank, *next, 2 * dimension);
        const auto back = link_between(*next, rank, 2 * dimension + 1);
        double out = 0;
        Style style = Style::load0;
        for (const auto& it : {there, back})
            if (it != links.end()) {
                out += it->second.out;
                style = std::max(style, style_of(it->second));
            }
        const std::string text = out >= 1e9   ? fmt::format("{:.1f}G", out / 1e9)
                                 : out >= 1e6 ? fmt::format("{:.0f}M", out / 1e6)
                                 : out >= 1e3 ? fmt::format("{:.0f}k", out / 1e3)
                                 : out > 0    ? fmt::format("{:.0f}", out)
                                              : "";
        return {level ? fmt::format("{:-^9}", text) : fmt::format("{:^9}", "|" + text), style};
    };
    std::vector<Row> rows;
    const int width = torus.extent(across), height = down >= 0 ? torus.extent(down) : 1;
    for (int y = 0; y < height; ++y) {
        Row ranks, below;
        for (int x = 0; x < width; ++x) {
            const int rank = rank_at(x, y);
            const RankView& it = view.ranks()[std::size_t(rank)];
            const RankState state = it.record.state;
            const char letter = state == RankState::waiting     ? 'w'
                                : state == RankState::computing ? 'c'
                                : state == RankState::stopped   ? 's'
                                : state == RankState::active    ? 'r'
                                                                : '.';
            ranks.line.push_back({fmt::format("[{:>4} {}]", rank, letter),
                                  it.slowest ? Style::mark : style_of(state)});
            ranks.line.push_back(link_piece(rank, across, true));
            if (down >= 0) {
                below.line.push_back(link_piece(rank, down, false));
                below.line.push_back({"        "});
            }
        }
        rows.push_back(std::move(ranks));
        if (down >= 0) rows.push_back(std::move(below));
    }
    return rows;
}

std::vector<Row> help_rows(Line& names) {
    names = heading("keys");
    std::vector<Row> rows;
    for (const char* line :
         {"1 2 3 4    ranks, hosts, links, a plane of the torus",
          "n s c o i w sort ranks by number, state, CPU, send rate, receive rate, time in their "
          "state;",
          "           r reverses the order",
          "/          type a filter: only rows that contain it; Enter ends it, Escape clears it",
          "x y        the plane: the next dimension across, and down",
          "[ ]        the plane: move it in the dimension selected with t",
          "arrows, page up and down   move in the table",
          "space      pause the screen; h or ? this page; q quit"})
        rows.push_back({{{line}}, ""});
    return rows;
}

Line totals_line(const JobView& view) {
    const Totals& sum = view.totals();
    Line line{{fmt::format("{} ranks: ", view.job().size)}};
    const auto add = [&](int count, const char* what, Style style) {
        if (count != 0) line.push_back({fmt::format("{} {}  ", count, what), style});
    };
    add(sum.active, "active", Style::plain);
    add(sum.waiting, "waiting", Style::waiting);
    add(sum.computing, "computing", Style::computing);
    add(sum.other, "other", Style::faint);
    add(sum.faults, "links with faults", Style::fault);
    line.push_back({fmt::format("{}  {:.0f} messages/s  CPU {:.0f} %", rate_text(sum.out),
                                sum.messages, sum.cpu * 100)});
    return line;
}

void cut(Line& line, std::size_t width) {
    std::size_t used = 0;
    for (Piece& piece : line) {
        std::size_t at = 0;
        while (at < piece.text.size() && used < width) {
            at += std::max<std::size_t>(base::utf8_length(std::string_view(piece.text).substr(at)),
                                        1);
            ++used;
        }
        piece.text.resize(std::min(at, piece.text.size()));
    }
}

}  // namespace

std::vector<Line> draw(const JobView& view, const Choice& choice, int width, int height) {
    const torus_run::JobDescription& job = view.job();
    std::vector<Line> lines;
    std::string title = fmt::format("job {}  {}  torus {}", job.pid,
                                    base::printable(job.program, 60), view.torus().describe());
    if (view.exit_code) title += fmt::format("  has ended with exit code {}", *view.exit_code);
    if (choice.frozen) title += "  (held)";
    lines.push_back(heading(title));
    lines.push_back(totals_line(view));
    Line names;
    std::vector<Row> rows;
    switch (choice.page) {
        case Page::ranks:
            rows = rank_rows(view, choice, names);
            break;
        case Page::nodes:
            rows = node_rows(view, names);
            break;
        case Page::links:
            rows = link_rows(view, choice, names);
            break;
        case Page::plane:
            rows = plane_rows(view, choice, names);
            break;
        case Page::help:
            rows = help_rows(names);
            break;
    }
    const bool filters =
        !choice.filter.empty() && choice.page != Page::plane && choice.page != Page::help;
    if (filters)
        std::erase_if(rows, [&](const Row& row) {
            return row.text.find(choice.filter) == std::string::npos;
        });
    if (choice.typing || filters)
        lines.push_back(
            {{fmt::format("filter: {}{}", choice.filter, choice.typing ? "_" : ""), Style::mark}});
    lines.push_back(names);
    const int room = height > 0 ? std::max(height - int(lines.size()) - 1, 1) : int(rows.size());
    const int first = std::clamp(choice.top, 0, std::max(int(rows.size()) - room, 0));
    for (int i = first; i < int(rows.size()) && i < first + room; ++i)
        lines.push_back(std::move(rows[std::size_t(i)].line));
    if (height > 0) {
        lines.resize(std::size_t(std::max(height - 1, 1)));
        lines.push_back(
            {{"1 ranks  2 hosts  3 links  4 plane  / filter  n s c o i w sort  h help  q quit",
              Style::faint}});
    }
    for (Line& line : lines) cut(line, std::size_t(width));
    return lines;
}

std::string plain_text(const std::vector<Line>& lines) {
    std::string text;
    for (const Line& line : lines) {
        std::string one;
        for (const Piece& piece : line) one += piece.text;
        one.erase(one.find_last_not_of(' ') + 1);
        text += one + '\n';
    }
    return text;
}

}  // namespace torusmp::torus_top
