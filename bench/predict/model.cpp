// SPDX-License-Identifier: BSD-3-Clause
#include "bench/predict/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/printing.h"

namespace torusmp::bench {

namespace {

template <auto field>
double link_get(const Model& model) {
    return double(model.link.*field);
}
template <auto field>
void link_set(Model& model, double value) {
    using Value = std::remove_reference_t<decltype(model.link.*field)>;
    model.link.*field = Value(value);
}
template <auto field>
double get(const Model& model) {
    return model.*field;
}
template <auto field>
void set(Model& model, double value) {
    model.*field = value;
}

template <auto field>
constexpr ModelKey link_key(std::string_view name, std::string_view unit, std::string_view help,
                            bool whole = false) {
    return {name, unit, help, link_get<field>, link_set<field>, whole};
}

std::string names() {
    std::vector<std::string_view> all;
    for (const NamedModel& model : named_models()) all.push_back(model.name);
    return fmt::format("{}", fmt::join(all, ", "));
}

double number_of(const base::Json& value, const ModelKey& key, const std::string& where) {
    const base::Json* number = value.is(base::Json::Kind::object) ? value.find("value") : &value;
    if (number == nullptr || !number->is(base::Json::Kind::number) || number->number < 0 ||
        (key.whole && number->number != std::floor(number->number)))
        throw std::runtime_error(fmt::format("{}: \"{}\": expected a {} of {}, not negative", where,
                                             key.name, key.whole ? "whole number" : "number",
                                             key.unit));
    return number->number;
}

}  // namespace

const std::vector<ModelKey>& model_keys() {
    using Link = transport::sim::LinkModel;
    static const std::vector<ModelKey> keys = {
        link_key<&Link::latency>("latency", "ns",
                                 "from the end of sending on a link until the receiver has the "
                                 "packet"),
        link_key<&Link::send_overhead>("send_overhead", "ns", "processor time to send a packet"),
        link_key<&Link::receive_overhead>("receive_overhead", "ns",
                                          "processor time to take a "
                                          "packet"),
        link_key<&Link::send_per_byte>("send_per_byte", "ns/B",
                                       "processor time to copy when "
                                       "sending"),
        link_key<&Link::receive_per_byte>("receive_per_byte", "ns/B",
                                          "processor time to copy when receiving"),
        link_key<&Link::gap>("gap", "ns", "least time between two packets on a link"),
        link_key<&Link::gap_per_byte>("gap_per_byte", "ns/B", "of a link"),
        link_key<&Link::reserve>("reserve", "bytes",
                                 "that pass at full speed after a pause: of shaped links"),
        link_key<&Link::node_gap_per_byte>("node_gap_per_byte", "ns/B",
                                           "of all links of a node together"),
        link_key<&Link::forward>("forward", "ns", "processor time to forward a packet"),
        link_key<&Link::forward_per_byte>("forward_per_byte", "ns/B", "the same"),
        link_key<&Link::header_bytes>("header_bytes", "bytes",
                                      "on the link in addition to the payload of a packet", true),
        link_key<&Link::interrupts>("interrupts", "0 or 1",
                                    "packets are handled while the program computes", true),
        link_key<&Link::cores>("cores", "cores", "shared by all ranks; 0: one per rank", true),
        link_key<&Link::wake>("wake", "ns", "for a shared core to switch to another rank"),
        {"eager_limit", "bytes", "packets are no larger; remote writes begin there",
         get<&Model::eager_limit>, set<&Model::eager_limit>, true},
        {"kernel_forward", "ns", "a packet in the kernel of a node that routes",
         get<&Model::kernel_forward>, set<&Model::kernel_forward>, false},
        {"gflops", "Gflop/s", "of a rank, in wilson", get<&Model::gflops>, set<&Model::gflops>,
         false}};
    return keys;
}

Model read_model(std::string_view text, const std::string& where) {
    base::Json file;
    try {
        file = base::parse_json(text);
    } catch (const std::runtime_error& wrong) {
        throw std::runtime_error(fmt::format("{}: {}", where, wrong.what()));
    }
    if (!file.is(base::Json::Kind::object))
        throw std::runtime_error(fmt::format("{}: expected a model: an object of numbers", where));
    Model model;
    for (const auto& [name, value] : file.members) {
        if (name == "name" || name == "about") {
            if (!value.is(base::Json::Kind::text))
                throw std::runtime_error(fmt::format("{}: \"{}\": expected text", where, name));
            (name == "name" ? model.name : model.about) = value.text;
            continue;
        }
        const auto& keys = model_keys();
        const auto key = std::find_if(keys.begin(), keys.end(),
                                      [&](const ModelKey& it) { return it.name == name; });
        if (key == keys.end()) {
            std::vector<std::string_view> known;
            for (const ModelKey& it : keys) known.push_back(it.name);
            throw std::runtime_error(
                fmt::format("{}: \"{}\" is not a number of a model: expected "
                            "{}",
                            where, name, fmt::join(known, ", ")));
        }
        key->set(model, number_of(value, *key, where));
        if (const base::Json* source = value.find("source")) model.sources[name] = source->text;
    }
    if (model.link.gap_per_byte <= 0)
        throw std::runtime_error(
            fmt::format("{}: \"gap_per_byte\": expected more than 0 ns/B", where));
    if (model.eager_limit < 64 || model.eager_limit > 1 << 20)
        throw std::runtime_error(
            fmt::format("{}: \"eager_limit\": expected 64 to 1048576 bytes", where));
    return model;
}

Model load_model(const std::string& name_or_file) {
    for (const NamedModel& model : named_models())
        if (model.name == name_or_file) return read_model(model.text, name_or_file);
    std::ifstream in(name_or_file, std::ios::binary);
    if (!in || std::filesystem::is_directory(name_or_file))
        throw std::runtime_error(
            fmt::format("--model {}: neither a file that can be read nor the name of a model: "
                        "expected {}",
                        name_or_file, names()));
    return read_model(std::string{std::istreambuf_iterator<char>(in), {}}, name_or_file);
}

std::string as_json(const Model& model) {
    std::vector<std::string> parts = {fmt::format("\"name\": {}", base::json_quote(model.name)),
                                      fmt::format("\"about\": {}", base::json_quote(model.about))};
    for (const ModelKey& key : model_keys()) {
        const auto source = model.sources.find(std::string(key.name));
        if (source == model.sources.end())
            parts.push_back(fmt::format("\"{}\": {:.6g}", key.name, key.get(model)));
        else
            parts.push_back(
                fmt::format("\"{}\": {{\"value\": {:.6g}, \"unit\": \"{}\", "
                            "\"source\": {}}}",
                            key.name, key.get(model), key.unit, base::json_quote(source->second)));
    }
    return base::json_enclose(parts, '{', '}', 0) + "\n";
}

}  // namespace torusmp::bench
