#include "job/settings.h"

#include "collectives/settings.h"
#include "config/geometry.h"
#include "core/settings.h"
#include "core/transport/common/settings.h"
#include "core/transport/shm/settings.h"
#include "core/transport/tcp/settings.h"
#include "core/transport/verbs/settings.h"
#include "launch/settings.h"

namespace torusmp::job {

const config::Schema& schema() {
    // Never destroyed: a job may be left while the process ends.
    static const config::Schema& all = *new config::Schema({
        config::setting::table,
        transport::setting::table,
        core::setting::table,
        transport::shm::setting::table,
        transport::tcp::setting::table,
        transport::verbs::setting::table,
        collectives::setting::table,
        setting::table,
        launch::setting::table,
    });
    return all;
}

}  // namespace torusmp::job
