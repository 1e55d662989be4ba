// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <functional>
#include <vector>

#include "bench/figures/facts_text.h"
#include "bench/report/changes.h"
#include "bench/report/derived.h"
#include "bench/report/papers.h"
#include "bench/report/peers.h"
#include "bench/report/plan.h"
#include "bench/report/summary.h"
#include "routing/torus.h"

namespace torusmp::bench {
namespace {

constexpr std::string_view style = R"(<style>
:root{color-scheme:light dark;--text:#222;--quiet:#666;--page:#fff;--line:#d8d8d8;--good:#006b4f;--bad:#a33c00}
@media (prefers-color-scheme:dark){:root{--text:#ddd;--quiet:#999;--page:#161616;--line:#444;--good:#20c090;--bad:#f08030}}
body{font-family:sans-serif;color:var(--text);background:var(--page);max-width:960px;margin:2em auto;padding:0 1em;line-height:1.45}
h1,h2{line-height:1.2}h2{margin-top:2.2em;border-bottom:1px solid var(--line)}
figure{margin:1em 0}figure svg{max-width:100%;height:auto;display:block}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.88em;margin:.6em 0}
th,td{padding:.15em .7em;border-bottom:1px solid var(--line);text-align:right}
th:first-child,td:first-child,.words td,.words th{text-align:left}th{font-weight:600}th[colspan]{text-align:center}
.wide{overflow-x:auto}.quiet,figcaption,.note{color:var(--quiet);font-size:.9em}
.good{color:var(--good)}.bad{color:var(--bad)}.failure{color:var(--bad)}
pre,code{font-size:.88em;overflow-x:auto}summary{cursor:pointer}nav a{margin-right:1em}a{color:inherit}
</style>
)";

// Escapes text for XML and HTML.
std::string escape(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else if (static_cast<unsigned char>(c) >= 0x20)
            out += c;
    }
    return out;
}

std::string element(std::string_view name, std::string_view text) {
    return fmt::format("<{0}>{1}</{0}>\n", name, escape(text));
}

std::string id_of(std::string_view name) {
    std::string id;
    for (const char c : name)
        id += std::isalnum(static_cast<unsigned char>(c)) ? char(std::tolower(c)) : '-';
    return id;
}

// A placeholder for a picture until all are drawn. It cannot occur in the text of a table, because
// it is not escaped.
std::string place_of_picture(std::size_t number) {
    return fmt::format("<!picture {}>", number);
}

// ---- Tables ----

std::string group_heads(const Table& table) {
    std::string out;
    bool any = false;
    for (std::size_t c = 0; c < table.columns.size();) {
        std::size_t end = c + 1;
        while (end < table.columns.size() && table.columns[end].group == table.columns[c].group)
            ++end;
        any |= !table.columns[c].group.empty();
        out += fmt::format("<th colspan=\"{}\">{}</th>", end - c, escape(table.columns[c].group));
        c = end;
    }
    return any ? "<tr><th></th>" + out + "</tr>\n" : "";
}

std::string table_as_html(const Table& table) {
    std::string out = "<div class=\"wide\"><table>\n<thead>" + group_heads(table) + "<tr>";
    out += fmt::format("<th>{}</th>", escape(table.key == "bytes" ? "size" : table.key));
    for (const Column& column : table.columns)
        out += fmt::format("<th>{}{}</th>", escape(column.name),
                           column.unit.empty() ? "" : "<br>" + escape(unit_text(column.unit)));
    out += "</tr></thead>\n<tbody>\n";
    for (const Row& row : table.rows) {
        if (row.beside) continue;
        out += fmt::format("<tr><td>{}</td>", escape(row_name(table, row)));
        for (std::size_t c = 0; c < table.columns.size(); ++c)
            out += fmt::format("<td>{}</td>", cell_text(table.columns[c], row.figures[c]));
        out += "</tr>\n";
    }
    out += "</tbody></table></div>\n";
    std::vector<std::string> notes = table.notes;
    if (std::string scatter = scatter_note(table); !scatter.empty())
        notes.push_back(std::move(scatter));
    if (notes.empty()) return out;
    out += "<pre class=\"note\">";
    for (const std::string& note : notes) out += escape(note) + "\n";
    return out + "</pre>\n";
}

// ---- Sections ----

using Parts = std::vector<const RecordedPart*>;

class Page {
  public:
    explicit Page(const PageInput& input) : input_(input) {}

    std::string text() {
        std::string body = head() + changes();
        for (const std::string& name : sections()) body += section(name);
        return body + papers() + foot();
    }
    const std::vector<Drawing>& drawings() const { return drawings_; }

  private:
    std::string figure(const std::string& id, Drawing drawing) {
        drawings_.push_back(std::move(drawing));
        return fmt::format("<figure id=\"{}\">\n{}</figure>\n", id_of(id),
                           place_of_picture(drawings_.size() - 1));
    }

    std::vector<std::string> sections() const {
        std::vector<std::string> names;
        for (const RecordedPart& part : input_.record.parts)
            if (std::find(names.begin(), names.end(), part.section) == names.end())
                names.push_back(part.section);
        return names;
    }

    const std::vector<Fact>* facts() const {
        for (const RecordedPart& part : input_.record.parts)
            if (part.result.facts.size() > 2) return &part.result.facts;
        return nullptr;
    }

    std::string subtitle(const RecordedPart& part) const {
        if (part.result.facts.size() > 2) return summarize(part.result.facts);
        return facts() == nullptr ? "torusmp " + input_.record.version : summarize(*facts());
    }

    std::string head() const {
        const ReportRecord& record = input_.record;
        std::string title = "torusmp: " + record.machine;
        std::string out = fmt::format(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n{}"
            "</head>\n<body>\n",
            escape(title), style);
        out += element("h1", title);
        out += summary();
        out += "<table class=\"words\" id=\"machine\"><tbody>\n";
        const auto line = [&](std::string_view name, std::string_view text) {
            out += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escape(name), escape(text));
        };
        line("version", record.version);
        line("begun", record.began);
        if (const auto* known = facts())
            for (const Fact& fact : *known)
                if (fact.name != "version" && fact.name != "date") line(fact.name, fact.text);
        line("time for a figure", shorten(record.seconds) + " s");
        out += "</tbody></table>\n";
        if (record.parts.size() < input_.planned)
            out += fmt::format(
                "<p class=\"failure\" id=\"unfinished\">Incomplete: {} of {} parts. Run the same "
                "command again to continue.</p>\n",
                record.parts.size(), input_.planned);
        out += fmt::format(
            "<p class=\"quiet\">All samples: <code>{}</code>. Curves are medians; bands span the "
            "minimum to the maximum. Ratios are times of torusmp divided by other times: below 1, "
            "torusmp is faster.</p>\n",
            escape(input_.samples));
        out += "<nav>";
        if (input_.before != nullptr) out += "<a href=\"#changes\">Changes</a> ";
        for (const std::string& name : sections())
            out += fmt::format("<a href=\"#{}\">{}</a> ", id_of("section " + name), escape(name));
        return out + "<a href=\"#papers\">The papers</a></nav>\n";
    }

    std::string summary() const {
        std::string out = "<table class=\"words\" id=\"summary\"><tbody>\n";
        for (const SummaryRow& row : summary_of(input_.record))
            out += fmt::format("<tr><td>{}</td><td><b>{}</b></td></tr>\n", escape(row.what),
                               escape(proper(row.value)));
        return out + "</tbody></table>\n";
    }

    // ---- What has changed ----
    std::string changes() const {
        if (input_.before == nullptr) return "";
        std::string rows;
        std::size_t compared = 0;
        for (const RecordedPart& part : input_.record.parts) {
            const RecordedPart* const old = input_.before->find(part.name);
            if (old == nullptr || !old->failure.empty() || !part.failure.empty()) continue;
            ++compared;
            for (const Change& change : changes_between(old->result.table, part.result.table))
                rows += fmt::format(
                    "<tr class=\"{}\"><td>{}</td><td>{}</td><td>{} {}</td><td>{} {}</td><td>{:.2f} "
                    "{}</td></tr>\n",
                    change.ratio < 1 ? "good" : "bad", escape(part.name), escape(change.what),
                    shorten(change.before), escape(unit_text(change.unit)), shorten(change.now),
                    escape(unit_text(change.unit)), change.ratio,
                    change.ratio < 1 ? "faster" : "slower");
        }
        std::string out =
            fmt::format("<h2 id=\"changes\">Changes since {}</h2>\n", escape(input_.before_name));
        out += fmt::format(
            "<p class=\"quiet\">The earlier report: torusmp {} of {}, on {}. Both contain {} "
            "parts. The table lists changes beyond the noise: all samples of one run exceed all "
            "of the other. Ratio: time now divided by time before.</p>\n",
            escape(input_.before->version), escape(input_.before->began),
            escape(input_.before->machine), compared);
        if (rows.empty()) return out + "<p>Nothing changed beyond the noise.</p>\n";
        return out +
               "<div class=\"wide\"><table class=\"words\"><thead><tr><th>part</th><th>what</th>"
               "<th>before</th><th>now</th><th>ratio</th></tr></thead>\n<tbody>\n" +
               rows + "</tbody></table></div>\n";
    }

    // ---- One section ----
    std::string section(const std::string& name) {
        std::string out =
            fmt::format("<h2 id=\"{}\">{}</h2>\n", id_of("section " + name), escape(name));
        Parts parts;
        for (const RecordedPart& part : input_.record.parts)
            if (part.section == name) parts.push_back(&part);
        for (const RecordedPart* part : parts)
            if (!part->failure.empty())
                out += is_absent(*part)
                           ? fmt::format("<p class=\"quiet\">{} is not available here: {}</p>\n",
                                         escape(part->name), escape(part->failure))
                           : fmt::format("<p class=\"failure\">{}: {}</p>\n", escape(part->name),
                                         escape(part->failure));
        parts.erase(std::remove_if(parts.begin(), parts.end(),
                                   [](const RecordedPart* part) { return !part->failure.empty(); }),
                    parts.end());
        if (parts.empty()) return out;
        if (parts.front()->result.command == "wilson") return out + wilson(parts);
        if (parts.size() > 1 && !parts.front()->overlay.empty()) out += overlaid(parts);
        for (const RecordedPart* part : parts) out += one(*part);
        return out;
    }

    std::string overlaid(const Parts& parts) {
        std::vector<std::string> names;
        std::vector<Recorded> recorded;
        for (const RecordedPart* part : parts) {
            names.push_back(part->name);
            recorded.push_back(part->result);
            // If there are several, one curve of each is enough.
            Table& table = recorded.back().table;
            for (Column& column : table.columns)
                if (column.draw == Column::Draw::dashes || column.group == "bare socket")
                    column.draw = Column::Draw::no;
        }
        Table table = overlay(names, recorded);
        table.title = parts.front()->overlay;
        return figure("overlay " + parts.front()->section, {table, subtitle(*parts.front())});
    }

    std::string one(const RecordedPart& part) {
        const Table table = with_peers(part);
        std::string out = figure("figure " + part.name, {drawn(part, table), subtitle(part)});
        if (part.result.command == "sweep") {
            const Table signature = signature_of(table);
            out += figure("signature", {signature, subtitle(part)});
            out += "<h3>Latency and saturation</h3>\n" + table_as_html(saturation_of(table));
        }
        if (!table.link_rates.empty()) out += map_of(part);
        return out + details(part.name, part.command, table_as_html(table));
    }

    static std::string details(const std::string& name, const std::string& command,
                               const std::string& table) {
        return fmt::format(
            "<details><summary>{}: the figures</summary>\n<p class=\"quiet\"><code>{}</code></p>\n"
            "{}</details>\n",
            escape(name), escape(command), table);
    }

    // Adds the figures of other libraries for the same ranks and transports.
    Table with_peers(const RecordedPart& part) const {
        Table table = part.result.table;
        const RecordedPart* const peers = input_.record.find(std::string(peers_beside));
        if (peers != nullptr && peers->failure.empty() &&
            part.command.find("--set transport.") == std::string::npos)
            put_beside(table, part.result.command, peers->result.table);
        return table;
    }

    // Adds the curves of the older run, if any.
    Table drawn(const RecordedPart& part, const Table& now) const {
        const RecordedPart* const old =
            input_.before == nullptr ? nullptr : input_.before->find(part.name);
        if (old == nullptr || !old->failure.empty() || part.result.table.key == dots_key ||
            old->result.table.key != part.result.table.key)
            return now;
        Recorded with_others = part.result;
        with_others.table = now;
        Table table = overlay({"before", "now"}, {old->result, with_others});
        table.title = part.result.table.title;
        return table;
    }

    std::string map_of(const RecordedPart& part) {
        constexpr int most_dimensions = 4;  // of a map
        for (const Fact& fact : part.result.facts)
            if (fact.name == "torus")
                if (const auto torus = torus_described(fact.text);
                    torus && torus->dimensions() <= most_dimensions)
                    return figure("map " + part.name, {part.result.table, subtitle(part), torus});
        return "";
    }

    // Parses "3x3x2" or "8openx4", as written by routing::Torus.
    static std::optional<routing::Torus> torus_described(const std::string& text) {
        std::vector<int> extents;
        std::vector<bool> periodic;
        for (const char* at = text.c_str(); *at != '\0';) {
            int extent = 0;
            const auto [end, error] = std::from_chars(at, text.c_str() + text.size(), extent);
            if (error != std::errc{} || extent < 1) return std::nullopt;
            extents.push_back(extent);
            at = end;
            periodic.push_back(std::string_view(at).substr(0, 4) != "open");
            if (!periodic.back()) at += 4;
            if (*at == 'x') ++at;
        }
        if (extents.empty()) return std::nullopt;
        return routing::Torus(extents, periodic);
    }

    // Draws fixed and scaled size, each as a curve over the ranks.
    std::string wilson(const Parts& parts) {
        std::vector<std::string> names;
        std::vector<std::vector<const Table*>> tables;
        for (const RecordedPart* part : parts) {
            if (names.empty() || names.back() != part->overlay) {
                names.push_back(part->overlay);
                tables.emplace_back();
            }
            tables.back().push_back(&part->result.table);
        }
        std::vector<Recorded> curves;
        std::string details_of_all;
        for (std::size_t i = 0; i < names.size(); ++i) {
            curves.push_back({"wilson", {}, rows_of_all(tables[i]), {}});
            details_of_all += element("h3", names[i]) + table_as_html(curves.back().table);
        }
        const Table table = overlay(names, curves);
        return figure("figure wilson", {table, subtitle(*parts.front())}) +
               details("wilson", parts.front()->command, details_of_all);
    }

    // ---- The papers ----
    std::string papers() const {
        std::string out =
            "<h2 id=\"papers\">Comparison with the papers</h2>\n<p class=\"quiet\">Machines of "
            "1995 to "
            "2006 beside this one: shapes and ratios are comparable, absolute figures hardly. If "
            "this report has no figure, the last column names a measurement that provides it; "
            "<code>docs/papers.md</code> lists what cannot be compared, and why.</p>\n"
            "<div class=\"wide\"><table class=\"words\"><thead><tr><th>paper</th><th>what</th>"
            "<th>theirs</th><th>here</th></tr></thead>\n<tbody>\n";
        for (const PaperRow& row : papers_beside(input_.record))
            out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td{}>{}</td></tr>\n",
                               escape(row.paper), escape(row.what), escape(proper(row.theirs)),
                               row.measured ? "" : " class=\"quiet\"", escape(proper(row.ours)));
        return out + "</tbody></table></div>\n";
    }

    // Writes "us" as the page shows it.
    static std::string proper(std::string text) {
        if (text.size() > 3 && text.substr(text.size() - 3) == " us")
            text.replace(text.size() - 2, 2, unit_text("us"));
        return text;
    }

    std::string foot() const {
        double took = 0;
        for (const RecordedPart& part : input_.record.parts) took += part.took;
        return fmt::format(
            "<p class=\"quiet\">Measured in {:.0f} s by torus-bench "
            "report.</p>\n</body>\n</html>\n",
            took);
    }

    const PageInput& input_;
    std::vector<Drawing> drawings_;
};

// Converts an SVG file for use inside the page: removes the header of a file.
std::string inside_page(const std::string& svg) {
    const auto begin = svg.find("<svg");
    return begin == std::string::npos ? "" : svg.substr(begin);
}

}  // namespace

std::string as_html(const PageInput& input, const Draw& draw) {
    Page page(input);
    const std::string text = page.text();
    const std::vector<std::string> pictures = draw(page.drawings());
    std::string out;
    std::size_t done = 0;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        const std::string place = place_of_picture(i);
        const std::size_t at = text.find(place, done);
        out += text.substr(done, at - done) + inside_page(pictures[i]);
        done = at + place.size();
    }
    return out + text.substr(done);
}

}  // namespace torusmp::bench
