// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/facts.h"

namespace torusmp::torus_setup {

namespace {

// The script ends a text with a dot, since its last line may lack a newline.
void remove_end(std::string& text) {
    if (text.ends_with(".\n")) text.resize(text.size() - 2);
}

}  // namespace

Facts parse_facts(const std::vector<std::string>& lines) {
    Facts facts;
    for (const std::string& line : lines) {
        const std::size_t blank = line.find(' ');
        const std::string kind = line.substr(0, blank);
        const std::string rest = blank == std::string::npos ? "" : line.substr(blank + 1);
        if (kind == "host") facts.name = rest;
        if (kind == "service") facts.service = rest;
        if (kind == "lacks") facts.lacks = rest;
        if (kind == "journal") facts.changed = true;
        if (kind == "hosts") facts.hosts += rest + "\n";
        if (kind == "interfaces") facts.interfaces += rest + "\n";
        if (kind == "device")
            facts.devices.push_back({rest.substr(0, rest.find(' ')), rest.ends_with(" up")});
    }
    remove_end(facts.hosts);
    remove_end(facts.interfaces);
    return facts;
}

}  // namespace torusmp::torus_setup
