// SPDX-License-Identifier: BSD-3-Clause
#include "job/settings.h"

#include "collectives/settings.h"
#include "config/geometry.h"
#include "core/settings.h"
#include "core/transport/list.h"
#include "launch/settings.h"

namespace torusmp::job {
namespace {

std::vector<config::Table> all_tables() {
    std::vector<config::Table> tables{config::setting::table};
    for (config::Table& table : transport::transport_settings()) tables.push_back(std::move(table));
    for (const config::Table& table : {core::setting::table, collectives::setting::table,
                                       setting::table, launch::setting::table})
        tables.push_back(table);
    return tables;
}

}  // namespace

const config::Schema& schema() {
    // Never destroyed: a job may be left while the process exits.
    static const config::Schema& all =
        *new config::Schema(all_tables(), transport::absent_transport_settings());
    return all;
}

}  // namespace torusmp::job
