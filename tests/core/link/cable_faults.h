// SPDX-License-Identifier: BSD-3-Clause
// Cuts and repairs cables of a simulated job at random; they never part living ranks.
#pragma once

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "core/job.h"
#include "routing/detours.h"

namespace torusmp::core::testing {

class CableFaults {
  public:
    CableFaults(Job& job, std::uint64_t seed) : job_(job), random_(seed) {
        const routing::Torus& torus = job.torus();
        for (Rank rank = 0; rank < torus.size(); ++rank)
            for (int d = 0; d < torus.link_dimensions(); ++d)
                if (const auto next = torus.neighbour(rank, {d, +1})) {
                    links_.push_back({rank, d});
                    if (!share_host(rank, *next)) all_.push_back({rank, d});
                }
        if (!all_.empty()) favourite_ = all_[random_.below(all_.size())];
    }

    // The favourite is cut and mended again and again.
    bool cut_one() {
        const routing::Link link =
            random_.below(3) == 0 ? favourite_ : all_[random_.below(all_.size())];
        if (!cut_.insert(link).second) return false;
        if (!connected() || !job_.cut_link(link.rank, link.direction())) {
            cut_.erase(link);
            return false;
        }
        ++cuts_;
        return true;
    }
    bool mend_one() {
        if (cut_.empty()) return false;
        auto link = cut_.begin();
        std::advance(link, std::ptrdiff_t(random_.below(cut_.size())));
        job_.revive_link(link->rank, link->direction());
        cut_.erase(link);
        return true;
    }
    bool any() const { return !cut_.empty(); }
    // True if paths over living ranks and working cables join all living ranks.
    bool connected() const {
        std::vector<routing::Link> dead(cut_.begin(), cut_.end());
        for (const routing::Link& link : links_)
            if (!job_.alive(link.rank) || !job_.alive(routing::far_end(job_.torus(), link)))
                dead.push_back(link);
        const routing::Parts parts(job_.torus(), dead);
        std::set<int> living;
        for (Rank rank = 0; rank < job_.size(); ++rank)
            if (job_.alive(rank)) living.insert(parts.of(rank));
        return living.size() <= 1;
    }
    int cuts() const { return cuts_; }  // so far
    // A cut or a repair now and then, called once a turn of the job.
    void happen() {
        if (!all_.empty() && random_.below(std::uint64_t(job_.size()) * 40) == 0)
            random_.below(2) == 0 ? cut_one() : mend_one();
    }

  private:
    bool share_host(Rank one, Rank other) const {
        const std::vector<Rank>& near = job_[one].options().direct;
        return std::find(near.begin(), near.end(), other) != near.end();
    }

    Job& job_;
    sim::Random random_;
    std::vector<routing::Link> links_;
    std::vector<routing::Link> all_;  // those with a cable
    std::set<routing::Link> cut_;
    int cuts_ = 0;
    routing::Link favourite_;
};

}  // namespace torusmp::core::testing
