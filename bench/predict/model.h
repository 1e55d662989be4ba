// SPDX-License-Identifier: BSD-3-Clause
// A machine as data: the times of a sim::LinkModel and the other inputs of a prediction, with the
// source of each. Models are small JSON files; those in models/ have names.
//
// Plain values; any thread may call.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "core/transport/sim/clocks.h"

namespace torusmp::bench {

struct Model {
    std::string name;
    std::string about;
    transport::sim::LinkModel link{};
    double eager_limit = 16384;  // bytes: the maximum packet; remote writes begin above it
    // Delay of a packet in the kernel of a forwarding node, used for the peers.
    double kernel_forward = 0;                   // ns
    double gflops = 1;                           // of a rank in wilson
    std::map<std::string, std::string> sources;  // by key
};

// A numeric key of the file.
struct ModelKey {
    std::string_view name;
    std::string_view unit;
    std::string_view help;
    double (*get)(const Model&);
    void (*set)(Model&, double);
    bool whole = false;
};
const std::vector<ModelKey>& model_keys();

struct NamedModel {
    std::string_view name;
    std::string_view text;
};
const std::vector<NamedModel>& named_models();

// Loads a named model or a file. Throws std::runtime_error that states what was found and what was
// expected.
Model load_model(const std::string& name_or_file);
// `where` precedes the text of errors.
Model read_model(std::string_view text, const std::string& where);
std::string as_json(const Model& model);

}  // namespace torusmp::bench
