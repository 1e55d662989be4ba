// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "bench/torus_bench/collective_calls.h"
#include "bench/torus_bench/options.h"
#include "config/options.h"

namespace torusmp::bench {

namespace po = boost::program_options;

po::options_description command_line_options() {
    po::options_description options("Options");
    options.add_options()  //
        ("np,n", po::value<int>()->value_name("N"),
         "ranks to start (also -np N); default: as many as the torus has")  //
        ("sizes", po::value<std::string>()->value_name("FIRST:LAST"),
         "message sizes, like 1:4MiB or 8KiB:8KiB")  //
        ("step", po::value<int>()->default_value(2)->value_name("FACTOR"),
         "each size is so many times the one before")  //
        ("seconds", po::value<double>()->default_value(0.1, "0.1")->value_name("S"),
         "time for each figure")  //
        ("window", po::value<int>()->default_value(64)->value_name("N"),
         "bandwidth, relay, forward: messages in flight one way")  //
        ("peer", po::value<int>()->value_name("RANK"),
         "latency, bandwidth, sweep, overlap: rank 0's partner; default: a neighbour")  //
        ("perturb", po::value<int>()->default_value(3)->value_name("BYTES"),
         "sweep: beside each size, so many bytes less and more")  //
        ("from", po::value<int>()->value_name("RANK"),
         "aggregate: this rank alone sends, on all its links; forward: this one passes on; "
         "simulate: "
         "the root")  //
        ("wire", po::value<double>()->value_name("MB/S"),
         "aggregate: what a link carries, drawn as a line")  //
        ("raw", po::bool_switch(),
         "latency, bandwidth, sweep, aggregate: a bare socket on the same links, in turns with "
         "ours; between ranks of one host over loopback")  //
        ("peers", po::value<std::string>()->value_name("FILE"),
         "latency, bandwidth, collectives: other libraries' figures beside ours, of a file that "
         "bench/compare-peers --json has written")  //
        ("operation", po::value<std::string>()->value_name("NAMES"),
         "collectives: which, with commas; default: broadcast,sum. predict: latency, halo, "
         "broadcast, sum, scatter, alltoall, or wilson alone")  //
        ("algorithm", po::value<std::string>()->value_name("NAMES"),
         "collectives: by which, with commas, or list, which shows them; default: automatic, as "
         "the "
         "settings say; of scatter and gather all")  //
        ("model", po::value<std::string>()->value_name("NAME"),
         "predict: the machine, a file or a name, or list, which shows those")  //
        ("calls", po::value<int>()->default_value(1)->value_name("N"),
         "predict: so many calls of a collective without a barrier between, as collectives "
         "measures them; the time of each")                                                   //
        ("json", po::value<std::string>()->value_name("FILE"), "write all samples there")     //
        ("csv", po::value<std::string>()->value_name("FILE"), "write the table there")        //
        ("plot", po::value<std::string>()->value_name("FILE.svg"), "draw the figures there")  //
        ("output,o",
         po::value<std::string>()->default_value("report.html")->value_name("FILE.html"),
         "report: the page; the samples go to the same name with .json, or to --json")  //
        ("budget", po::value<double>()->default_value(300)->value_name("S"),
         "report: time for all of it, unless --seconds says that of a figure")  //
        ("only", po::value<std::string>()->value_name("PARTS"),
         "report: parts, with commas; * stands for anything")  //
        ("compare", po::value<std::string>()->value_name("OLD.json"),
         "report: draw the figures of an older one beside, and list what changed beyond noise")  //
        ("again", po::bool_switch(), "report: measure anew what its file has already");
    config::add_common_options(options);
    return options;
}

std::string algorithms_text(const std::vector<std::string>& operations) {
    std::string text;
    for (const CollectiveFacts& operation : collective_operations()) {
        const auto wanted = std::find(operations.begin(), operations.end(), operation.name);
        if (operation.algorithms == nullptr || (!operations.empty() && wanted == operations.end()))
            continue;
        text += fmt::format("{}\n", operation.name);
        for (const collectives::AlgorithmRow& row : operation.algorithms->rows())
            text += fmt::format("  {:<9} {}\n", row.name, row.help);
    }
    return text;
}

std::string help_text() {
    std::ostringstream text;
    text << "Measures messages on the torus, through QMP. Run alone it starts its ranks with "
            "torus-run.\n\n"
            "torus-bench WHAT [options]\n\n"
            "What:\n"
            "  latency    half a round trip between two ranks\n"
            "  bandwidth  between two ranks: ping-pong, one way with many messages in flight, and\n"
            "             both ways at once\n"
            "  sweep      ping-pong over many sizes and a few bytes beside each: time and "
            "bandwidth\n"
            "  aggregate  every rank exchanges with its neighbours along 1, 2, 3 ... dimensions:\n"
            "             per link, per node (the sum of its links), and over all nodes\n"
            "  relay      from rank 0 to ranks 1, 2, 3 ... links away: the time of a hop with the\n"
            "             first of --sizes, bandwidth with the last\n"
            "  overlap    how much computation fits beside a message in flight, and what\n"
            "             communication costs in processor time\n"
            "  efficiency throughput over the processor time of both ends, idle and beside a busy\n"
            "             thread on each; and what a send and a receive cost the processor\n"
            "  collectives  the time of a call of each operation, by each --algorithm: broadcast, "
            "sum (of\n"
            "             doubles, on every rank), reduce, scatter, gather, allgather, "
            "reduce_scatter,\n"
            "             alltoall, scan, barrier\n"
            "  steps      a broadcast to the farthest rank and a global sum, and for each link on "
            "the way\n"
            "             the time of a step\n"
            "  forward    what one rank passes on between its neighbours, over all its links at "
            "once\n"
            "  simulate   no measurement: what collectives cost on a torus, counted step by step;\n"
            "             in a step each link takes one message each way\n"
            "  predict    no measurement: what a machine would take that --model describes, by "
            "running the\n"
            "             library in simulated time, up to 4096 ranks, and others' algorithms "
            "beside\n"
            "  fit        makes a model from --json files of latency, bandwidth and relay; it is "
            "printed\n"
            "  plot       draws --json files again, several in one picture\n"
            "  report     all of these on this machine, as a page of HTML with pictures; started "
            "again, it\n"
            "             goes on where it was cut off\n\n"
         << command_line_options()
         << "\n"
            "Without a torus, aggregate, collectives and steps run on 2x2x2, relay on a line of 7, "
            "forward on an\nopen mesh of 3x3, and the others on two ranks of this host; simulate "
            "goes through a list of tori and open meshes. Where "
            "ranks use links, the bytes over each link are printed "
            "too.\n\n"
            "Examples:\n"
            "  torus-bench aggregate --torus 2x2x2 --plot aggregate.svg\n"
            "  torus-bench latency -np 2 --json latency.json\n"
            "  torus-bench sweep --config cluster.toml --raw --plot sweep.svg\n"
            "  torus-bench bandwidth --sizes 1KiB:4MiB --set transport.eager_limit=8KiB\n"
            "  torus-run -np 8 --torus 2x2x2 torus-bench overlap --peer 7\n"
            "  torus-bench collectives --torus 2x2x2 --plot collectives.svg\n"
            "  torus-bench collectives --operation scatter --algorithm optimal,apart --sizes "
            "64:16KiB \\\n"
            "      --set transport.local=links\n"
            "  torus-bench collectives --torus 2x2x2 --step 8 --peers peers.json --plot both.svg "
            "\\\n"
            "      (after bench/compare-peers --torus 2x2x2 --only 'here.*' --json peers.json)\n"
            "  torus-bench simulate --torus 6x8x8 --from 100 --json steps.json\n"
            "  torus-bench predict --torus 8x8x16 --model gige-mvia --plot predicted.svg\n"
            "  torus-bench fit latency.json bandwidth.json relay.json > machine.json\n"
            "  torus-bench plot old.json new.json --plot both.svg\n"
            "  torus-bench report --config cluster.toml -o report.html\n"
            "  torus-bench report -o new.html --compare report.json --only 'latency*,sweep'\n\n"
            "Exit code: 0 measured, 1 failed, 2 wrong usage or settings and nothing was started.\n";
    return text.str();
}

}  // namespace torusmp::bench
