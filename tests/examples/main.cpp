// SPDX-License-Identifier: BSD-3-Clause
// Runs the tests as a QMP program of one rank. QMP starts with the first test, not when the tests
// are only listed.
#include <qmp.h>

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

namespace {

struct WithQmp : Catch::TestEventListenerBase {
    using Catch::TestEventListenerBase::TestEventListenerBase;

    void testRunStarting(const Catch::TestRunInfo&) override {
        int argc = 1;
        char name[] = "wilson_tests";
        char* words[] = {name, nullptr};
        char** argv = words;
        QMP_thread_level_t level;
        const int dims[] = {1, 1, 1, 1};
        if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &level) != QMP_SUCCESS ||
            QMP_declare_logical_topology(dims, 4) != QMP_SUCCESS)
            throw std::runtime_error("QMP did not start");
    }
    void testRunEnded(const Catch::TestRunStats&) override { QMP_finalize_msg_passing(); }
};

CATCH_REGISTER_LISTENER(WithQmp)

}  // namespace
