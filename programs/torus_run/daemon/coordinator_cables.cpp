// SPDX-License-Identifier: BSD-3-Clause
// The coordinator's handling of reports about cables.
#include <fmt/format.h>

#include <utility>

#include "config/cable.h"
#include "config/geometry.h"
#include "launch/link_news.h"
#include "programs/torus_run/daemon/coordinator.h"

namespace torusmp::torus_run {
namespace {

// Time between a rank's report of a link and the end of the job that it may cause.
constexpr std::chrono::milliseconds time_for_the_cause{3000};

}  // namespace

void Coordinator::link_trouble(int node, const LinkTrouble& trouble) {
    if (trouble.kind == LinkTrouble::Kind::elsewhere) {
        plugs_.heard(node, trouble, Clock::now());
        return;
    }
    if (!cables_.is_first(node, trouble)) return;
    if (trouble.kind == LinkTrouble::Kind::loss) {
        const auto cable = node_torus(job_.settings)
                               ? config::cable_at(job_.settings, node, trouble.device)
                               : std::nullopt;
        const std::string name = cable ? config::describe_cable(job_.settings, *cable)
                                       : fmt::format("{} of host {}", trouble.device,
                                                     job_.hosts[std::size_t(node)].name);
        outputs_.print(fmt::format(
            "torus-run: warning: the cable from {} loses packets: {}. Messages arrive late. Check "
            "its plugs or replace it; torus-check measures the loss\n",
            name, trouble.what));
    } else {
        outputs_.print(fmt::format(
            "torus-run: warning: the kernel of host {} {}; torus-check tests the cables\n",
            job_.hosts[std::size_t(node)].name, trouble.what));
    }
}

// Cables that lead elsewhere.
void Coordinator::judge(const PlugNews::Verdict& verdict) {
    if (kill_at_ || kill_now_) return;
    if (!verdict.refusal.empty()) return fail({verdict.refusal, exit_failure, true, {}});
    cables_.dead_at_start(verdict.cables, CableNews::Moment::now());
    for (const std::string& line : verdict.lines)
        outputs_.print(fmt::format("torus-run: warning: {} The job uses a detour.\n", line));
}

void Coordinator::note(int rank, const std::string& text) {
    if (kill_at_ || kill_now_) return;
    lost_each_other_ = true;
    notes_.push_back(fmt::format("torus-run: {} reports: {}\n", describe(rank), text));
    if (job_.common.keep_going) return print_notes();
    if (!print_notes_at_) print_notes_at_ = Clock::now() + time_for_the_cause;
}

// A dead cable does not end the job while its links can continue over others.
void Coordinator::hear_of_link(const RankEvent& event) {
    if (kill_at_ || kill_now_) return;
    const auto news = launch::decode_link_news(event.bytes, job_.size());
    if (!news || !cables_.heard(event.rank, *news, CableNews::Moment::now()))
        return damaged(event.rank, "report of a link");
    lost_each_other_ = lost_each_other_ || news->state == routing::LinkNews::State::dead;
}

void Coordinator::print_lines(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) outputs_.print(fmt::format("torus-run: {}\n", line));
}

void Coordinator::print_notes() {
    print_notes_at_.reset();
    for (const std::string& text : std::exchange(notes_, {})) outputs_.print(text);
}

}  // namespace torusmp::torus_run
