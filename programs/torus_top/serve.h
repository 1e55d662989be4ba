// SPDX-License-Identifier: BSD-3-Clause
// Serves the job to browsers and to Prometheus over HTTP.
//
//   /             the page: HTML, script and style in one, with nothing from elsewhere
//   /api/state    the job as JSON
//   /api/events   the same JSON at every sample, as server-sent events
//   /metrics      OpenMetrics
//
// Every request needs the token, which is part of the printed address.
#pragma once

#include <string>

#include "programs/torus_top/feed.h"

namespace torusmp::torus_top {

struct ServeOptions {
    std::string address;
    int port = 0;
    bool open_to_others = false;
    std::string token_file;  // empty for a new token each time
};

// Serves until a signal arrives or a replayed job ends; the last state of a live job stays
// available. Prints its address. Throws std::runtime_error if it cannot serve.
int serve(Feed& feed, JobView& view, const ServeOptions& options, Recorder* recorder);

}  // namespace torusmp::torus_top
