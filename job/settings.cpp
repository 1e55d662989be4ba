// SPDX-License-Identifier: BSD-3-Clause
#include "job/settings.h"

#include "base/trace.h"
#include "collectives/settings.h"
#include "config/geometry.h"
#include "core/settings.h"
#include "core/transport/list.h"
#include "io/settings.h"
#include "launch/settings.h"

namespace torusmp::job {
namespace {

std::vector<config::Table> all_tables() {
    std::vector<config::Table> tables{config::setting::table};
    for (config::Table& table : transport::transport_settings()) tables.push_back(std::move(table));
    for (const config::Table& table : {core::setting::table, collectives::setting::table,
                                       io::setting::table, setting::table, launch::setting::table})
        tables.push_back(table);
    return tables;
}

}  // namespace

config::Type<std::string> setting::trace_levels() {
    return {"levels",
            config::always("off, info, debug or trace, or a level for each module like "
                           "info,link=trace"),
            [](const config::Raw& found) {
                try {
                    if (!found.is_text()) throw config::Mismatch({}, found.line);
                    base::parse_trace_levels(found.text);
                } catch (const std::invalid_argument& error) {
                    throw config::Mismatch(error.what(), found.line);
                }
                return found.text;
            },
            [](const std::string& levels) { return levels; }};
}

const config::Schema& schema() {
    // Never destroyed: a job may be left while the process exits.
    static const config::Schema& all =
        *new config::Schema(all_tables(), transport::absent_transport_settings());
    return all;
}

}  // namespace torusmp::job
