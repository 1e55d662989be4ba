// SPDX-License-Identifier: BSD-3-Clause
#include "config/options.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/raw.h"

namespace po = boost::program_options;

namespace torusmp::config {

namespace {

std::string nearest_option(const std::string& mistyped, const po::options_description& options) {
    std::vector<std::string> names;
    for (const auto& option : options.options())
        if (!option->long_name().empty()) names.push_back("--" + option->long_name());
    const std::vector<std::string_view> views(names.begin(), names.end());
    return std::string(base::nearest(mistyped, views));
}

}  // namespace

void add_setting_options(po::options_description& options) {
    options.add_options()  //
        ("config", po::value<std::string>()->value_name("FILE"),
         "geometry file in TOML (default: $TORUSMP_CONFIG)")  //
        ("torus", po::value<std::string>()->value_name("DIMS"),
         "nodes along each dimension, for example 2x2x2 (short for --set torus.dims=2x2x2)")  //
        ("set", po::value<std::vector<std::string>>()->composing()->value_name("KEY=VALUE"),
         "change a setting, for example transport.tokens=8; may be repeated (torus-info lists "
         "the settings)");
}

void add_common_options(po::options_description& options) {
    add_setting_options(options);
    options.add_options()                       //
        ("help,h", "print this help and exit")  //
        ("version", "print the version and exit");
}

void throw_usage_error(const po::error& error, const po::options_description& options) {
    const auto* unknown = dynamic_cast<const po::unknown_option*>(&error);
    if (!unknown)
        throw UsageError(fmt::format("{}; see --help", base::printable(error.what(), 300)));
    std::string name = unknown->get_option_name();
    if (const std::size_t equals = name.find('='); equals != std::string::npos) name.resize(equals);
    const std::string meant = nearest_option(name, options);
    throw UsageError(
        fmt::format("unknown option '{}'{}", base::printable(name),
                    meant.empty() ? "; see --help" : fmt::format("; did you mean {}?", meant)));
}

po::variables_map parse_options(int argc, const char* const* argv,
                                const po::options_description& options,
                                const po::positional_options_description& positional) {
    namespace style = po::command_line_style;
    po::variables_map given;
    try {
        po::command_line_parser parser(argc, argv);
        parser.options(options).style(style::default_style & ~style::allow_guessing);
        const bool words_allowed = positional.max_total_count() > 0;
        if (words_allowed) parser.positional(positional);
        const po::parsed_options parsed = parser.run();
        for (const po::option& option : parsed.options)
            if (option.string_key.empty() && !words_allowed)
                throw UsageError(
                    fmt::format("unexpected argument '{}'; see --help",
                                base::printable(option.value.empty() ? "" : option.value[0])));
        po::store(parsed, given);
        po::notify(given);
    } catch (const po::error& error) {
        throw_usage_error(error, options);
    }
    return given;
}

LoadRequest request_from(const po::variables_map& given) {
    LoadRequest request;
    if (given.count("config")) {
        request.file = given["config"].as<std::string>();
        if (request.file.empty())
            throw ConfigError("--config is empty: expected the path of a geometry file");
    }
    if (given.count("set"))
        for (const std::string& text : given["set"].as<std::vector<std::string>>())
            request.flags.push_back(parse_set_flag(text));
    if (given.count("torus"))
        request.flags.push_back({"torus.dims", given["torus"].as<std::string>(), "--torus"});
    return request;
}

int run_program(std::string_view name, const std::function<int()>& body) {
    const auto report = [&](const char* message, int code) {
        fmt::print(stderr, "{}: {}\n", name, message);
        return code;
    };
    try {
        const int code = body();
        // Output lost on a full disk must not look like success.
        if (std::fflush(stdout) != 0) return report("cannot write the output", exit_failure);
        return code;
    } catch (const ConfigError& error) {
        return report(error.what(), exit_usage);
    } catch (const UsageError& error) {
        return report(error.what(), exit_usage);
    } catch (const std::exception& error) {
        return report(error.what(), exit_failure);
    }
}

}  // namespace torusmp::config
