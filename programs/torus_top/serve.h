// SPDX-License-Identifier: BSD-3-Clause
// The job for browsers and for Prometheus, by HTTP.
//
//   /             the page: HTML, script and style in one, with nothing from elsewhere
//   /api/state    the job as JSON
//   /api/events   the same at every sample, as server-sent events
//   /metrics      OpenMetrics
#pragma once

#include <string>

#include "programs/torus_top/feed.h"

namespace torusmp::top {

struct ServeOptions {
    std::string address;
    int port = 0;
    bool open_to_others = false;  // and then a token is asked for
};

// Until a signal or the end of a job that has been replayed; the last state of a job stays to be
// looked at. Prints where it serves. Throws std::runtime_error if it cannot.
int serve(Feed& feed, JobView& view, const ServeOptions& options, Recorder* recorder);

}  // namespace torusmp::top
