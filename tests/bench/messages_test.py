# SPDX-License-Identifier: BSD-3-Clause
"""The figures of torus-bench for messages, between two ranks and over many links."""

import json
import re
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from bench_program import BENCH, QUICK, TORUS_RUN, Program
from program import main


class Latency(Program):
    def test_every_size_has_a_positive_time(self):
        document = self.measure("latency", "--torus", "2", "--sizes", "0:64", "--step", "8")
        self.assertEqual([r["bytes"] for r in document["rows"]], [0, 1, 8, 64])
        self.assertEqual(document["ran_on"]["ranks"], 2)

    def test_the_time_for_a_figure_is_kept_where_one_trip_takes_longer(self):
        # No machine moves 128 MiB in 2 ms: as few repetitions as a median needs.
        document = self.measure("latency", "--torus", "2", "--sizes", "64MiB:64MiB")
        self.assertEqual({len(f["samples"]) for f in document["rows"][0]["figures"]}, {3})

    def test_a_far_partner_is_reported_with_its_distance(self):
        document = self.measure("latency", "--torus", "2x2", "--peer", "3", "--sizes", "8:8")
        self.assertIn("ranks 0 and 3 (2 hops)", document["title"])


class Bandwidth(Program):
    def test_all_three_patterns_over_eager_and_rma(self):
        document = self.measure("bandwidth", "--torus", "2", "--sizes", "1KiB:64KiB", "--step", "8",
                                "--window", "4")
        self.assertEqual([c["name"] for c in document["columns"]],
                         ["ping-pong", "one way", "both ways"])
        self.assertEqual([r["bytes"] for r in document["rows"]], [1024, 8192, 65536])

    def test_ranks_without_a_part_stand_by(self):
        document = self.measure("bandwidth", "--torus", "3", "--sizes", "64:64", "--window", "2")
        self.assertEqual(document["ran_on"]["ranks"], 3)


class Sweep(Program):
    def test_sizes_and_the_bytes_beside_them(self):
        document = self.measure("sweep", "--torus", "2", "--sizes", "64:32KiB", "--step", "512",
                                "--perturb", "5")
        self.assertEqual([r["bytes"] for r in document["rows"]],
                         [59, 64, 69, 32763, 32768, 32773])
        for row in document["rows"]:
            time, rate = (f["median"] for f in row["figures"])
            self.assertAlmostEqual(row["bytes"] / time / rate, 1, places=3)
        self.assertEqual(document["links"], [])


class Relay(Program):
    def test_a_line_of_ranks_over_its_links(self):
        done = self.run_program(BENCH, "relay", "--torus", "4", "--set", "torus.periodic=false",
                                "--set", "transport.local=links", "--sizes", "8:4KiB", "--window",
                                "4", *QUICK, "--json", "out.json")
        self.assert_ok(done)
        document = json.loads((self.work / "out.json").read_text())
        self.assertEqual([r["hops"] for r in document["rows"]], [1, 2, 3])
        for row in document["rows"]:
            self.assertGreater(row["figures"][0]["median"], 0)
            self.assertGreater(row["figures"][2]["median"], 0)
        links = self.check_links(document, [(0, "0+"), (1, "0+"), (1, "0-"), (2, "0+"), (2, "0-"),
                                            (3, "0-")])
        # Packets to the far end cross every link, so each link carries more than the next.
        self.assertGreater(links[0, "0+"]["bytes_sent"], links[1, "0+"]["bytes_sent"])
        self.assertGreater(links[1, "0+"]["bytes_sent"], links[2, "0+"]["bytes_sent"])
        self.assertGreater(links[2, "0+"]["bytes_sent"], 0)
        self.assertIn("A hop costs", done.stdout)
        self.assertIn("Traffic over each link", done.stdout)

    def test_a_run_without_relayed_packets_is_reported(self):
        done = self.run_program(BENCH, "relay", "--torus", "3", "--set", "torus.periodic=false",
                                "--sizes", "8:64", "--window", "2", *QUICK)
        self.assert_ok(done)
        self.assertIn("nothing was relayed", done.stdout)


class Aggregate(Program):
    def test_one_group_of_figures_for_each_dimension(self):
        document = self.measure("aggregate", "--sizes", "1:32KiB", "--step", "32")
        self.assertEqual(document["ran_on"]["torus"], "2x2x2")
        groups = [c["group"] for c in document["columns"]]
        self.assertEqual(groups, [f"{n}-D exchange" for n in (1, 2, 3) for _ in range(3)])
        for row in document["rows"]:
            for n in (1, 2, 3):
                link, node, every = (f["median"] for f in row["figures"][3 * n - 3:3 * n])
                self.assertAlmostEqual(node / link, 2 * n, places=5)
                self.assertAlmostEqual(every / link, 2 * n * 8, places=5)

    def test_the_slowest_link_is_named_with_its_share(self):
        document = self.measure("aggregate", "--sizes", "1:32KiB", "--step", "32")
        found = re.search(r"^\* Slowest link at 32KiB, 3-D: rank (\d) to rank (\d) \(link [012][+-] of the receiver\), "
                          r"[0-9.]+ MB/s: (\d+) % of ", document["notes"][-1])
        self.assertTrue(found, document["notes"])
        self.assertNotEqual(found[1], found[2])
        # 0 % where other programs keep a rank from the cores.
        self.assertLessEqual(int(found[3]), 100)

    def test_the_traffic_of_each_link_is_a_table_in_which_the_slowest_is_marked(self):
        document = self.measure("aggregate", "--torus", "3x2", "--sizes", "32KiB:32KiB")
        *_, head, a, b, c, d, e, f, slowest = document["notes"]
        self.assertEqual(head.split(), ["rank", "0+", "0-", "1+", "1-"])
        lines = (a, b, c, d, e, f)
        self.assertEqual([line.split()[0] for line in lines], [str(rank) for rank in range(6)])
        self.assertEqual({len(line) for line in lines}, {len(head)})
        rates = [float(word) for line in lines for word in line.replace("*", "").split()[1:]]
        self.assertEqual(len(rates), 24)
        marked = [word for line in lines for word in re.findall(r"\* ([0-9.]+)", line)]
        self.assertEqual([float(word) for word in marked], [min(rates)])
        self.assertIn(f"), {marked[0]} MB/s", slowest)

    def test_a_dimension_of_one_has_no_links(self):
        document = self.measure("aggregate", "--torus", "2x1x3", "--sizes", "64:64")
        self.assertEqual(len(document["columns"]), 6)
        link, _, every = (f["median"] for f in document["rows"][0]["figures"][3:])
        self.assertAlmostEqual(every / link, 4 * 6, places=5)

    def test_an_open_mesh_has_no_links_over_its_edge(self):
        document = self.measure("aggregate", "--torus", "3", "--set", "torus.periodic=false",
                                "--sizes", "64:64")
        link, node, every = (f["median"] for f in document["rows"][0]["figures"])
        self.assertAlmostEqual(node / link, 2, places=5)
        self.assertAlmostEqual(every / link, 4, places=5)

    def test_one_rank_alone_may_send(self):
        document = self.measure("aggregate", "--torus", "3x2", "--from", "4", "--sizes", "64:64")
        self.assertIn("rank 4 sending", document["title"])
        for n in (1, 2):
            link, node, every = (f["median"]
                                 for f in document["rows"][0]["figures"][3 * n - 3:3 * n])
            self.assertAlmostEqual(node / link, 2 * n, places=5)
            self.assertAlmostEqual(every, node, places=5)

    def test_under_the_users_launcher_it_is_a_rank(self):
        done = self.run_program(TORUS_RUN, "-np", "4", "--torus", "2x2", BENCH, "aggregate",
                                "--sizes", "8:8", *QUICK)
        self.assert_ok(done)
        self.assertIn("torus 2x2", done.stdout)


class Forward(Program):
    def test_the_middle_of_a_mesh_passes_on_over_all_its_links(self):
        document = self.measure("forward", "--sizes", "1KiB:1KiB", "--window", "4")
        self.assertIn("rank 4 of a torus 3openx3open", document["title"])
        self.assertIn("over 4 of its links", document["title"])
        self.assertIn("Flows through rank 4", document["notes"][0])
        for row in document["rows"]:
            _, one, node = (f["median"] for f in row["figures"])
            self.assertAlmostEqual(node / one, 4, places=5)
        # The middle relays everything that it receives; the corners do not relay.
        links = {(l["rank"], l["direction"]): l for l in document["links"]}
        for direction in ("0+", "0-", "1+", "1-"):
            self.assertGreaterEqual(links[4, direction]["bytes_sent"], 4 << 10)
            self.assertGreaterEqual(links[4, direction]["bytes_received"], 4 << 10)

    def test_another_rank_with_fewer_links(self):
        document = self.measure("forward", "--torus", "4x2", "--from", "3", "--sizes", "64:64",
                                "--window", "2", "--set", "transport.local=links")
        self.assertIn("rank 3 of a torus 4x2", document["title"])

    def test_a_run_without_relayed_packets_is_reported(self):
        document = self.measure("forward", "--torus", "3", "--set", "torus.periodic=false",
                                "--sizes", "64:64", "--window", "2")
        self.assertIn("nothing was relayed", document["notes"][-1])


class Windows(Program):
    def test_each_access_on_a_host_and_over_links(self):
        for command, names in (("put", ["put"]), ("get", ["get"]), ("accumulate", ["accumulate", "get_accumulate"]),
                               ("cas", ["compare_and_swap", "fetch_and_op"])):
            for links in ((), ("--set", "transport.local=links")):
                with self.subTest(command=command, links=links):
                    sizes = () if command == "cas" else ("--sizes", "128:128KiB", "--step", "1024")
                    document = self.measure(command, "--torus", "2", *sizes, "--window", "4", *links)
                    self.assertEqual([c["group"] for c in document["columns"]], [n for n in names for _ in range(3)])
                    for row in document["rows"]:
                        for flushed, rate, bandwidth in zip(*[iter(f["median"] for f in row["figures"])] * 3):
                            self.assertGreater(flushed, 0)
                            self.assertAlmostEqual(bandwidth / rate, row["bytes"], delta=0.01 * row["bytes"])


class Loopback(Program):
    """Bare sockets beside our figures, with all ranks on one host."""

    def test_between_two_ranks(self):
        for what, columns in (("latency", 11), ("bandwidth", 9), ("sweep", 5)):
            with self.subTest(what=what):
                document = self.measure(what, "--torus", "2", "--raw", "--sizes", "64:4KiB", "--step",
                                        "64", "--set", "transport.local=links")
                self.assertEqual(len(document["columns"]), columns)
                self.assertTrue(any("over loopback" in note for note in document["notes"]))

    def test_on_all_links(self):
        document = self.measure("aggregate", "--torus", "2x2", "--raw", "--sizes", "4KiB:4KiB")
        self.assertEqual([c["name"] for c in document["columns"]],
                         ["a link", "a node", "all nodes", "bare node", "ratio"] * 2)

    def test_far_ranks_have_no_socket_between_them(self):
        done = self.run_program(BENCH, "latency", "--torus", "2x2", "--peer", "3", "--raw")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("are not neighbours", done.stderr)


class Overlap(Program):
    def test_message_work_and_both_together(self):
        document = self.measure("overlap", "--torus", "2", "--sizes", "1KiB:32KiB", "--step", "32")
        self.assertEqual([c["name"] for c in document["columns"]],
                         ["message", "work", "together", "hidden", "processor"])


if __name__ == "__main__":
    main()
