// SPDX-License-Identifier: BSD-3-Clause
// Reads mpi.h and mpi-ext.h for the generator.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "generate.h"

namespace {

std::string read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::smatch> all_matches(const std::string& text, const std::regex& pattern) {
    return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

Parameter parse_parameter(const std::string& text) {
    static const std::regex form(R"(\s*(.*?)\s*(\w+)\s*((?:\[\d*\])*)\s*)");
    std::smatch found;
    if (!std::regex_match(text, found, form)) throw std::runtime_error("what is '" + text + "'?");
    const std::string type = std::regex_replace(found[1].str(), std::regex(R"(\s+(\*))"), "$1");
    return {type + found[3].str(), found[2].str()};
}

std::vector<Parameter> parse_parameters(const std::string& text) {
    std::vector<Parameter> parameters;
    std::istringstream rest(text);
    for (std::string part; std::getline(rest, part, ',');)
        if (part != "void" && part.find("...") == std::string::npos)
            parameters.push_back(parse_parameter(part));
    return parameters;
}

std::vector<Function> find_functions(const std::string& header, const std::regex& form) {
    std::vector<Function> functions;
    for (const std::smatch& found : all_matches(header, form))
        functions.push_back({found[1], found[2], parse_parameters(found[3])});
    if (functions.empty()) throw std::runtime_error("a header declares no function");
    return functions;
}

// Handles and integers; addresses and functions are not constants in Fortran.
std::vector<Constant> find_constants(const std::string& header) {
    static const std::regex form(
        R"(\n#define (MPI_\w+) (?:\(\((MPI_\w+)\)(0x\w+)\)|\(?(-?\d+)\)?)(?= |\n))");
    static const std::regex alias(R"(\n#define (MPI_\w+) (MPI_\w+))");
    for (const std::smatch& found : all_matches(header, alias))
        throw std::runtime_error(found[1].str() + " is " + found[2].str() +
                                 ", which programs may define by it: write the value");
    std::vector<Constant> constants;
    for (const std::smatch& found : all_matches(header, form)) {
        const std::string name = found[1];
        if (name.starts_with("MPI_F_") || name.starts_with("MPI_T_") || name.ends_with("_FN"))
            continue;
        std::string value =
            found[3].matched ? std::to_string(std::stoi(found[3], nullptr, 16)) : found[4].str();
        // A Fortran string has no null at its end.
        if (name.starts_with("MPI_MAX_")) value = std::to_string(std::stoi(value) - 1);
        constants.push_back({name, value, found[2]});
    }
    return constants;
}

// Numbers, and other names of constants of mpi.h.
std::vector<Constant> find_extension_constants(const std::string& header,
                                               const std::vector<Constant>& known) {
    static const std::regex form(R"(\n#define (MPIX_\w+|OMPI_\w+) (\w+)(?=\n))");
    std::vector<Constant> constants;
    for (const std::smatch& found : all_matches(header, form)) {
        Constant constant{found[1], found[2], {}};
        for (const Constant& same : known)
            if (same.name == constant.value) constant.value = same.value;
        if (!std::isdigit(static_cast<unsigned char>(constant.value[0])))
            throw std::runtime_error(constant.name + ": what is " + constant.value + "?");
        constants.push_back(constant);
    }
    return constants;
}

std::vector<Callback> find_callbacks(const std::string& header) {
    static const std::regex form(R"(\ntypedef (void|int)\((MPI_\w+)\)\(([^()]*)\);)");
    std::vector<Callback> callbacks;
    for (const std::smatch& found : all_matches(header, form))
        if (!found[2].str().starts_with("MPI_T_"))
            callbacks.push_back({found[1], found[2], parse_parameters(found[3])});
    return callbacks;
}

std::vector<Predefined> find_predefined(const std::string& header) {
    static const std::regex form(R"(\n#define (MPI_\w+) \(\((MPI_\w+)\*\)[01]\))");
    std::vector<Predefined> predefined;
    for (const std::smatch& found : all_matches(header, form))
        predefined.push_back({found[1], found[2]});
    return predefined;
}

// A Fortran program does not pass its command line.
void make_fortran(std::vector<Function>& functions) {
    for (Function& function : functions)
        if (function.name.starts_with("Init") || function.name == "Info_create_env")
            std::erase_if(function.parameters, [](const Parameter& parameter) {
                return parameter.name == "argc" || parameter.name == "argv";
            });
}

}  // namespace

Header::Header(const std::string& path, const std::string& extensions_path) {
    const std::string text = read(path), more = read(extensions_path);
    static const std::regex handle(R"(\ntypedef struct \w+\* (MPI_\w+);)");
    for (const std::smatch& found : all_matches(text, handle))
        if (!found[1].str().starts_with("MPI_T_")) handles.insert(found[1]);
    constants = find_constants(text);
    functions =
        find_functions(text, std::regex(R"(\nTORUSMP_FUNCTION\((\w+), (\w+),\s*\(([^()]*)\)\))"));
    if (functions.size() < 100) throw std::runtime_error("mpi.h declares hardly any function");
    make_fortran(functions);
    callbacks = find_callbacks(text);
    predefined = find_predefined(text);
    // All of them return int: the first group is empty.
    extensions =
        find_functions(more, std::regex(R"(\nTORUSMP_EXTENSION\(()(\w+), \(([^()]*)\)\))"));
    own =
        find_functions(more, std::regex(R"(\nTORUSMP_EXPORTED (int) (torusmp_\w+)\(([^()]*)\);)"));
    for (Function& function : extensions) function.result = "int";
    extension_constants = find_extension_constants(more, constants);
}

std::string lower(std::string text) {
    for (char& letter : text) letter = char(std::tolower(letter));
    return text;
}

std::string base_of(const std::string& type) {
    const std::size_t from = type.starts_with("const ") ? 6 : 0;
    return type.substr(from, type.find_first_of("*[") - from);
}

bool is_logical(const Parameter& parameter) {
    static const std::set<std::string> logicals{"flag",        "periods",  "reorder",
                                                "remain_dims", "commute",  "high",
                                                "weighted",    "complete", "is_set"};
    return logicals.contains(parameter.name);
}

bool is_wide(const std::string& function) {
    return function.ends_with("_c");
}

bool is_for_c_alone(const std::string& function) {
    if (function.starts_with("T_")) return true;
    for (const char* end :
         {"_c2f", "_f2c", "_toint", "_fromint", "_f082c", "_c2f08", "_f2f08", "_f082f"})
        if (function.ends_with(end)) return true;
    return false;
}

std::vector<Constant> constants_of_fortran() {
    std::vector<Constant> constants;
    for (const char* kind : {"ADDRESS", "OFFSET", "COUNT"})
        constants.push_back({std::string("MPI_") + kind + "_KIND", "8", {}});
    constants.insert(constants.end(), {{"MPI_INTEGER_KIND", "4", {}},
                                       {"MPI_STATUS_SIZE", "8", {}},
                                       {"MPI_SOURCE", "1", {}},
                                       {"MPI_TAG", "2", {}},
                                       {"MPI_ERROR", "3", {}}});
    return constants;
}
