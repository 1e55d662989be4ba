// SPDX-License-Identifier: BSD-3-Clause
// The defaults of core::Options, and the effects of settings on them.
#include <catch2/catch.hpp>

#include <array>
#include <chrono>

#include "config/settings.h"
#include "core/settings.h"
#include "job/settings.h"

namespace torusmp::options_test {

using namespace std::chrono_literals;
namespace setting = core::setting;

namespace {

core::Options plain() {
    return {.torus = routing::Torus(std::array{2}), .direct = {}, .log = {}, .name_of = {}};
}

}  // namespace

TEST_CASE("options of core have the defaults of the settings", "[core]") {
    const core::Options bare = plain();
    core::Options usual = plain();
    usual.apply(config::Settings(job::schema()));
    CHECK(bare.eager_limit == usual.eager_limit);
    CHECK(bare.credits == usual.credits);
    CHECK(bare.relay_credits == usual.relay_credits);
    CHECK(bare.far_direct == usual.far_direct);
    CHECK(bare.shortcuts == usual.shortcuts);
    CHECK(bare.value(setting::unexpected) == usual.value(setting::unexpected));
    CHECK(bare.value(setting::watchdog) == usual.value(setting::watchdog));
    CHECK(usual.detour);  // of a job; a Runtime alone has a detour only if it is asked for one
}

TEST_CASE("a setting of one module is looked up by its row", "[core]") {
    config::Settings settings(job::schema());
    settings.set(setting::watchdog, 3s);
    settings.set(setting::shortcuts, 7);
    core::Options options = plain();
    options.apply(settings);
    CHECK(options.value(setting::watchdog) == 3s);
    CHECK(options.shortcuts == 0);  // routing.forward = relay

    const core::Options before = options;
    options.set(setting::unexpected, 12345);
    CHECK(options.value(setting::unexpected) == 12345);
    CHECK(options.value(setting::watchdog) == 3s);
    CHECK(before.value(setting::unexpected) == setting::unexpected.initial());

    core::Options alone = plain();  // without the settings of a job
    alone.set(setting::progress, core::ProgressMode::thread);
    CHECK(alone.value(setting::progress) == core::ProgressMode::thread);
    CHECK(alone.value(setting::watchdog) == setting::watchdog.initial());
}

}  // namespace torusmp::options_test
