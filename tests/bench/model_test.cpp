// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <string>

#include "bench/predict/model.h"

using namespace torusmp::bench;
using Catch::Contains;

namespace model_test {

TEST_CASE("Every named model can be read, and every number has its source") {
    REQUIRE(named_models().size() >= 3);
    for (const NamedModel& named : named_models()) {
        const Model model = load_model(std::string(named.name));
        CHECK(model.name == named.name);
        CHECK(!model.about.empty());
        for (const ModelKey& key : model_keys())
            if (key.get(model) != key.get(Model{})) {
                INFO(named.name << " " << key.name);
                CHECK(!model.sources.at(std::string(key.name)).empty());
            }
    }
}

TEST_CASE("A model that was written can be read again") {
    const Model model = load_model("gige-mvia");
    const Model again = read_model(as_json(model), "again");
    for (const ModelKey& key : model_keys()) CHECK(key.get(again) == key.get(model));
    CHECK(again.sources == model.sources);
}

TEST_CASE("A file that is not a model is refused with the text found and the text expected") {
    CHECK_THROWS_WITH(load_model("no-such"), Contains("no-such") && Contains("gige-mvia"));
    CHECK_THROWS_WITH(read_model("{}", "m"), Contains("gap_per_byte"));
    CHECK_THROWS_WITH(read_model("[]", "m"), Contains("an object"));
    CHECK_THROWS_WITH(read_model(R"({"gap_per_byte": 1, "latancy": 1})", "m"),
                      Contains("\"latancy\"") && Contains("latency"));
    CHECK_THROWS_WITH(read_model(R"({"gap_per_byte": -1})", "m"), Contains("not negative"));
    CHECK_THROWS_WITH(read_model(R"({"gap_per_byte": 1, "cores": 1.5})", "m"),
                      Contains("whole number"));
    CHECK_THROWS_WITH(read_model(R"({"gap_per_byte": 1, "eager_limit": 1})", "m"),
                      Contains("eager_limit"));
}

}  // namespace model_test
