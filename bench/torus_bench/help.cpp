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
         "number of ranks to start (also -np N; default: one per place in the torus)")  //
        ("sizes", po::value<std::string>()->value_name("FIRST:LAST"),
         "message sizes, for example 1:4MiB or 8KiB:8KiB")  //
        ("step", po::value<int>()->default_value(2)->value_name("FACTOR"),
         "ratio of each size to the previous one")  //
        ("seconds", po::value<double>()->default_value(0.1, "0.1")->value_name("S"),
         "time for each figure")  //
        ("window", po::value<int>()->default_value(64)->value_name("N"),
         "bandwidth, relay, forward: messages in flight in one direction; put, get, accumulate, "
         "cas: accesses before a flush")  //
        ("peer", po::value<int>()->value_name("RANK"),
         "latency, bandwidth, sweep, overlap, put, get, accumulate, cas: partner of rank 0 "
         "(default: a neighbour)")  //
        ("perturb", po::value<int>()->default_value(3)->value_name("BYTES"),
         "sweep: also measure each size minus and plus BYTES")  //
        ("from", po::value<int>()->value_name("RANK"),
         "aggregate: only RANK sends, on all its links; forward: RANK forwards; simulate: RANK is "
         "the root")  //
        ("wire", po::value<double>()->value_name("MB/S"),
         "aggregate: rated speed of a link, drawn as a line")  //
        ("raw", po::bool_switch(),
         "latency, bandwidth, sweep, aggregate: also measure bare sockets on the same links (over "
         "loopback if the ranks share a host), alternating with torusmp")  //
        ("peers", po::value<std::string>()->value_name("FILE"),
         "latency, bandwidth, collectives: show the figures of other libraries from FILE, which "
         "bench/compare-peers --json writes")  //
        ("operation", po::value<std::string>()->value_name("NAMES"),
         "collectives: operations, separated by commas (default: broadcast,sum); predict: latency, "
         "halo, broadcast, sum, scatter, alltoall, or wilson alone")  //
        ("algorithm", po::value<std::string>()->value_name("NAMES"),
         "collectives: algorithms, separated by commas, or list to print them (default: automatic, "
         "according to the settings; all for scatter and gather)")  //
        ("busbw", po::bool_switch(),
         "collectives: also print algbw and busbw in GB/s, as nccl-tests does")  //
        ("folder", po::value<std::string>()->default_value(".")->value_name("DIR"),
         "io: folder for the test files, which are deleted afterwards (a path on the host that has "
         "the disk)")  //
        ("row", po::value<std::string>()->default_value("1KiB")->value_name("SIZE"),
         "io: bytes in each row of strided accesses")  //
        ("model", po::value<std::string>()->value_name("NAME"),
         "predict: machine model: a file, a name, or list to print the names")  //
        ("calls", po::value<int>()->default_value(1)->value_name("N"),
         "predict: time N calls of a collective in a row without a barrier, and report the time "
         "per call")                                                                            //
        ("json", po::value<std::string>()->value_name("FILE"), "write all samples to FILE")     //
        ("csv", po::value<std::string>()->value_name("FILE"), "write the table to FILE")        //
        ("plot", po::value<std::string>()->value_name("FILE.svg"), "draw the figures in FILE")  //
        ("output,o",
         po::value<std::string>()->default_value("report.html")->value_name("FILE.html"),
         "report: page to write; samples go to the same name with .json, or to --json")  //
        ("budget", po::value<double>()->default_value(300)->value_name("S"),
         "report: total time in seconds, unless --seconds sets the time for each figure")  //
        ("only", po::value<std::string>()->value_name("PARTS"),
         "report: parts to measure, separated by commas; * matches any text")  //
        ("compare", po::value<std::string>()->value_name("OLD.json"),
         "report: also draw the figures of an older report, and list the changes beyond noise")  //
        ("again", po::bool_switch(), "report: repeat measurements that the file already contains");
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
    text
        << "Measures communication on the torus through QMP. Outside a job, it starts its own ranks "
           "with\ntorus-run.\n\n"
           "Usage: torus-bench COMMAND [options]\n\n"
           "Commands:\n"
           "  latency    half of a round trip between two ranks\n"
           "  bandwidth  between two ranks: ping-pong, one way with many messages in flight, and\n"
           "             both ways\n"
           "  sweep      ping-pong over many sizes, each also a few bytes smaller and larger: "
           "time\n"
           "             and bandwidth\n"
           "  aggregate  every rank exchanges messages with its neighbours along 1, 2, 3 ...\n"
           "             dimensions: bandwidth per link, per node (all its links), and of all "
           "nodes\n"
           "  relay      from rank 0 to ranks 1, 2, 3 ... links away: latency per hop with the\n"
           "             first of --sizes, bandwidth with the last\n"
           "  overlap    how much computation overlaps with a message in flight, and how much\n"
           "             processor time communication takes\n"
           "  efficiency bytes per second of processor time at both ends, with idle processors and\n"
           "             with a busy thread on each; and the processor time of a send and a "
           "receive\n"
           "  collectives  the time of a call of each operation with each --algorithm: broadcast,\n"
           "             sum (of doubles, on every rank), reduce, scatter, gather, allgather,\n"
           "             reduce_scatter, alltoall, scan, barrier\n"
           "  steps      a broadcast to the farthest rank and a global sum: the total time, and "
           "the\n"
           "             time per link on the path\n"
           "  forward    the rate at which one rank forwards messages between its neighbours, "
           "over\n"
           "             all its links\n"
           "  io         collective writes and reads of one file, in blocks and in rows; one file "
           "per\n"
           "             rank; and, for comparison, pwrite and pread by one process on the host "
           "of\n"
           "             the disk\n"
           "  put, get, accumulate, cas  accesses of rank 0 to a window of its partner: each with a\n"
           "             flush, and many before a flush\n"
           "  simulate   count the steps of collectives on a torus; in a step each link carries "
           "one\n"
           "             message in each direction (not a measurement)\n"
           "  predict    predict times on the machine of --model, by running the library in\n"
           "             simulated time with up to 4096 ranks; other algorithms are shown for\n"
           "             comparison (not a measurement)\n"
           "  fit        print a model made from --json files of latency, bandwidth and relay\n"
           "  plot       draw the figures of --json files, several files in one picture\n"
           "  report     run all benchmarks on this machine and write an HTML page with pictures; "
           "an\n"
           "             interrupted report resumes when it is started again\n\n"
        << command_line_options()
        << "\n"
           "Without a torus, aggregate, collectives and steps run on 2x2x2, relay on a line of 7,\n"
           "forward on an open mesh of 3x3, the other benchmarks on two ranks of this host, and\n"
           "simulate on a list of tori and open meshes. If ranks communicate over links, the "
           "bytes\n"
           "sent over each link are printed too.\n\n"
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
           "  torus-bench io --config cluster.toml --folder /scratch --set io.at=/scratch=head \\\n"
           "      --json io.json\n"
           "  torus-bench put --torus 2x2x2 --set transport.local=links --peer 7\n"
           "  torus-bench simulate --torus 6x8x8 --from 100 --json steps.json\n"
           "  torus-bench predict --torus 8x8x16 --model gige-mvia --plot predicted.svg\n"
           "  torus-bench fit latency.json bandwidth.json relay.json > machine.json\n"
           "  torus-bench plot old.json new.json --plot both.svg\n"
           "  torus-bench report --config cluster.toml -o report.html\n"
           "  torus-bench report -o new.html --compare report.json --only 'latency*,sweep'\n\n"
           "Exit code: 0 success, 1 failure, 2 an option or a setting is wrong and nothing was "
           "started.\n";
    return text.str();
}

}  // namespace torusmp::bench
