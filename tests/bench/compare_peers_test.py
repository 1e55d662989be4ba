# SPDX-License-Identifier: BSD-3-Clause
"""Runs compare-peers with short measurements. A peer that is not installed is expected to be absent."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
from program import BUILD, SOURCE, Case, clean_environment, main, skip_without_testbeds

SCRIPT = SOURCE / "bench/compare-peers"
PEERS = ("openmpi", "mpich")
# Whether all collectives are measured, which takes half a minute.
WHOLE = "COMPARE_WHOLE" in os.environ
QUICK = ("--runs", "1", "--seconds", "0.005", "--no-build", "--build-dir", BUILD)


def installed(peer):
    return shutil.which(f"mpicc.{peer}") and shutil.which(f"mpirun.{peer}")


class Comparison(Case):
    def compare(self, *words, environment=None):
        return self.run_program(SCRIPT, *QUICK, *words, environment=environment)

    def without_mpi(self):
        """Returns an environment whose PATH has no MPI."""
        programs = self.work / "path"
        programs.mkdir()
        for name in ("python3", "sh", "sleep", "mv", "ip", "cc", "as", "ld", "taskset", "tc", "unshare",
                     "sysctl"):
            if not shutil.which(name):
                continue
            os.symlink(shutil.which(name), programs / name)
        return clean_environment() | {"PATH": str(programs)}

    def lines(self, done, peers=PEERS):
        """{measure: {library: text}} of the lines that are not remarks."""
        found = {}
        for line in done.stdout.splitlines():
            if line.startswith("#"):
                continue
            name, *words = line.split(" ")
            found[name] = dict(word.split("=") for word in words)
            self.assertEqual(list(found[name]), ["ours", *peers, "ratio"], line)
        return found


class Measures(Comparison):
    def check_value(self, text, unit):
        text = text.removesuffix("~")  # its samples scatter
        self.assertTrue(re.fullmatch(rf"\d+(\.\d+)?{re.escape(unit)}", text), text)
        return float(text.removesuffix(unit))

    def check_line(self, values, unit, more_is_better):
        # The machine may change its mode between the libraries; then one of them has no figure.
        if "other-mode" in values.values():
            return
        ours = self.check_value(values["ours"], unit)
        peers = []
        for peer in PEERS:
            if installed(peer):
                peers.append(self.check_value(values[peer], unit))
            else:
                self.assertEqual(values[peer], "absent")
        if not peers:
            self.assertEqual(values["ratio"], "none")
            return
        expected = max(peers) / ours if more_is_better else ours / min(peers)
        self.assertTrue(re.fullmatch(r"\d+\.\d\d", values["ratio"]), values)
        self.assertAlmostEqual(float(values["ratio"]), expected, delta=0.01 + 0.03 * expected)

    def test_times_bandwidths_and_json(self):
        done = self.compare("--only", "shm.latency.8", "--only", "shm.bandwidth.pingpong.1KiB",
                            "--json", "out.json")
        self.assert_ok(done)
        lines = self.lines(done)
        self.assertEqual(list(lines), ["shm.latency.8", "shm.bandwidth.pingpong.1KiB"])
        self.check_line(lines["shm.latency.8"], "us", False)
        self.check_line(lines["shm.bandwidth.pingpong.1KiB"], "MB/s", True)
        document = json.loads((self.work / "out.json").read_text())
        self.assertEqual([m["name"] for m in document["measures"]], list(lines))
        counted = lines["shm.latency.8"]["ours"] != "other-mode"
        self.assertEqual(len(document["measures"][0]["samples"].get("ours", [])), int(counted))
        self.assertEqual(document["failures"], [])

    def test_a_measure_of_ours_alone(self):
        done = self.compare("--only", "relay.hop.8")
        self.assert_ok(done)
        values = self.lines(done)["relay.hop.8"]
        self.assertRegex(values["ours"], r"^-?\d+(\.\d+)?us$")
        self.assertEqual([values[p] for p in PEERS] + [values["ratio"]], ["none"] * 3)

    def test_processor_time_alone_and_beside_other_work(self):
        units = {"shm.cpu.message.8": "us", "shm.cpu.gigabyte.1MiB": "s",
                 "shm.cpu.message.8.loaded": "us", "shm.cpu.gigabyte.1MiB.loaded": "s"}
        done = self.compare("--only", "shm.cpu.*", environment=self.without_mpi())
        self.assert_ok(done)
        lines = self.lines(done)
        self.assertEqual(sorted(lines), sorted(units))
        for name, unit in units.items():
            self.assertRegex(lines[name]["ours"], rf"^\d+(\.\d+)?{unit}$")
            self.assertGreater(float(lines[name]["ours"].removesuffix(unit)), 0)

    def test_collectives_are_checked_and_timed_in_each_library(self):
        names = [f"collectives.{what}.shm.2" for what in
                 ("broadcast.8", "sum.8", "reduce.8", "scatter.64", "gather.64", "allgather.64",
                  "reduce_scatter.64", "alltoall.64", "scan.8", "barrier.0")]
        if not WHOLE:   # a root and all, blocks for each, nothing
            names = [name for name in names if any(word in name for word in ("broadcast", "alltoall", "barrier"))]
        done = self.compare(*(word for name in names for word in ("--only", name)))
        self.assert_ok(done)
        lines = self.lines(done)
        self.assertEqual(sorted(lines), sorted(names))
        for values in lines.values():
            self.check_line(values, "us", False)

    def test_programs_that_speak_mpi_are_checked_and_timed_in_each_library(self):
        units = {"mpi.latency.8": "us", "mpi.rate.8": "M/s", "mpi.bandwidth.64KiB": "MB/s",
                 "mpi.posted.1000": "us", "mpi.halo.16": "us"}
        done = self.compare(*(word for name in units for word in ("--only", name)))
        self.assert_ok(done)
        lines = self.lines(done)
        self.assertEqual(sorted(lines), sorted(units))
        for name, unit in units.items():
            self.check_line(lines[name], unit, unit != "us")

    def test_the_list_names_each_measure_once(self):
        done = self.run_program(SCRIPT, "--list")
        self.assert_ok(done)
        names = done.stdout.split()
        self.assertEqual(len(names), len(set(names)))
        for name in ("shm.latency.8", "shm.bandwidth.stream.4MiB", "shm.oversubscribed.halo.27",
                     "shm.oversubscribed.sum.64", "shm.startup.64", "shm.idle", "shm.memory.64",
                     "shm.cpu.message.8", "tcp.cpu.gigabyte.1MiB.loaded", "eth.cpu.message.8.loaded",
                     "tcp.latency.8", "tcp.bandwidth.stream.1MiB", "aggregate.links.1MiB",
                     "aggregate.node.1MiB", "relay.tcp.hop.8", "relay.tcp.stream.4", "relay.frames.hop.8",
                     "relay.auto.hop.8", "relay.auto.stream.1MiB.3",
                     "collectives.sum.8.shm.64", "collectives.scatter.16KiB.tcp",
                     "collectives.scatter_apart.16KiB.tcp", "collectives.broadcast.4MiB.tcp",
                     "wilson.2x2x2", "wilson.3x3x2",
                     "mpi.latency.8", "mpi.rate.8", "mpi.bandwidth.4MiB", "mpi.posted.1000",
                     "mpi.halo.64", "npb.BT.S.9", "npb.IS.W.16", "npb.SP.W.16.tcp"):
            self.assertIn(name, names)


class Here(Comparison):
    """Measures on the torus of --torus, or on the testbed around."""

    def test_ranks_of_this_host_whatever_cluster_the_user_has(self):
        # TORUSMP_CONFIG is for programs that the user starts.
        (self.work / "cluster.toml").write_text('[torus]\ndims = [3]\nhosts = ["a", "b", "c"]\n')
        done = self.compare("--torus", "2x2", "--only", "here.latency.1", "--only", "here.pingpong.256",
                            "--only", "here.sum.8", "--json", "out.json",
                            environment=self.without_mpi() | {"TORUSMP_CONFIG": str(self.work / "cluster.toml")})
        self.assert_ok(done)
        for name, values in self.lines(done).items():
            self.assertRegex(values["ours"], r"^\d", name)
        rows = {m["name"]: m for m in json.loads((self.work / "out.json").read_text())["measures"]}
        self.assertEqual({name: (m["program"], m["test"], m["ranks"], m["links"]) for name, m in rows.items()},
                         {"here.latency.1": ("exchange", "latency:1", 2, False),
                          "here.pingpong.256": ("exchange", "pingpong:256", 2, False),
                          "here.sum.8": ("collectives", "sum:8", 4, False)})

    def test_the_location_of_here_must_be_known(self):
        self.assert_refused(self.compare("--only", "here.sum.8"), "here.sum.8", "--torus", "torus-netns run")
        for torus in ("1", "2x", "two"):
            self.assert_refused(self.compare("--torus", torus, "--only", "here.*"), f"--torus {torus}", "2x2x2")


class Testbeds(Comparison):
    def setUp(self):
        skip_without_testbeds()
        super().setUp()

    def test_on_the_testbed_around(self):
        done = self.run_program(SOURCE / "tests/testbed/torus-netns", "run", "2x2", "--", SCRIPT, *QUICK, "--only",
                                "here.latency.1", "--only", "here.node.64KiB", "--only", "here.sum.8", "--json",
                                "out.json", environment=self.without_mpi() | {"TMPDIR": str(self.work)})
        self.assert_ok(done)
        rows = json.loads((self.work / "out.json").read_text())["measures"]
        self.assertEqual([(m["name"], m["ranks"], m["links"]) for m in rows],
                         [("here.latency.1", 4, True), ("here.node.64KiB", 4, True), ("here.sum.8", 4, True)])
        for m in rows:
            self.assertGreater(m["median"]["ours"], 0, m["name"])

    @staticmethod
    def beside_ours(*bare):
        """The pattern of a line without peers. The machine may change its mode between ours and a bare
        one; then one of them has no figure."""
        time = r"([\d.]+us~?|other-mode)"
        return (rf"ours={time} openmpi=absent mpich=absent ratio=none " +
                " ".join(rf"{name}={time} to_{name}=([\d.]+|none)" for name in bare) + "$")

    def test_bare_sockets_and_the_wire_stand_beside_ours(self):
        done = self.compare("--only", "tcp.latency.8", "--only", "eth.latency.8",
                            "--only", "relay.tcp.diagonal.4MiB", environment=self.without_mpi())
        self.assert_ok(done)
        lines = [l for l in done.stdout.splitlines() if not l.startswith("#")]
        pair = next(l for l in lines if l.startswith("tcp.latency.8 "))
        self.assertRegex(pair, self.beside_ours("raw"))
        frames = next(l for l in lines if l.startswith("eth.latency.8 "))
        self.assertRegex(frames, self.beside_ours("raw", "ring"))
        diagonal = next(l for l in lines if l.startswith("relay.tcp.diagonal"))
        self.assertRegex(diagonal, r"ours=[\d.]+MB/s~? .* of_wire=[\d.]+$")
        testbeds = self.run_program(SOURCE / "tests/testbed/torus-netns", "list")
        self.assertNotIn("cmp", testbeds.stdout, "a testbed was left behind")


class OtherPeers(Comparison):
    def test_an_mpi_that_is_named_stands_beside_the_others(self):
        if not installed("mpich"):
            self.skipTest("MPICH is not installed")
        folder = self.work / "other/bin"
        folder.mkdir(parents=True)
        for name in ("mpicc", "mpicxx", "mpirun"):
            (folder / name).write_text(f'#!/bin/sh\nexec {name}.mpich "$@"\n')
            (folder / name).chmod(0o755)
        done = self.compare("--only", "mpi.latency.8", "--only", "tcp.latency.8" if os.geteuid() == 0 else "mpi.rate.8",
                            "--peer", f"other={self.work}/other")
        self.assert_ok(done)
        found = {l.split(" ")[0]: dict(w.split("=") for w in l.split(" ")[1:]) for l in done.stdout.splitlines()
                 if not l.startswith("#")}
        self.assertRegex(found["mpi.latency.8"]["other"], r"^(\d+(\.\d+)?us~?|other-mode)$")
        if "tcp.latency.8" in found:
            self.assertEqual(found["tcp.latency.8"]["other"], "none", "it may take another network")
        self.assertRegex(done.stdout, r"# other: MPICH +\d")


class Modes(Comparison):
    """Samples of different modes of the machine are never mixed."""

    def setUp(self):
        super().setUp()
        sys.path.insert(0, str(SOURCE / "bench/peers"))
        import mode
        self.mode = mode

    def machine(self, *trips):
        """Measures the modes of a machine with this sequence of round trips."""
        for number, trip in enumerate(trips):
            (self.work / str(number)).write_text(f"{trip} ns 10.00 GB/s\n" if trip else "")
        program = self.work / "mode"
        program.write_text(f"""#!/bin/sh
cd '{self.work}'
for f in {' '.join(map(str, range(len(trips))))}; do [ -e $f ] && cat $f && rm $f && exit; done
""")
        program.chmod(0o755)
        return self.mode.Modes(program)

    def test_groups(self):
        self.assertEqual(self.mode.modes_of([402, 88, 91, 120, 390]), [[88, 91, 120], [390, 402]])
        self.assertEqual(self.mode.prevalent([402, 88, 91]), (88, 91))
        self.assertEqual(self.mode.prevalent([402, 88]), (88, 88), "of equal ones the nearer")
        self.assertIsNone(self.mode.prevalent([None, None]))

    def test_samples_of_one_mode_are_kept(self):
        near, far = (90, 91), (400, 410)  # before and after each run of a library
        modes = self.machine(*near, *near, *far, *far, *near, *near)
        runs = {"ours": [], "mpich": []}
        for value in (1, 7, 2):
            for library, times in (("ours", 1), ("mpich", 10)):
                runs[library].append((modes.end_run(modes.probe()), times * value))
        self.assertEqual(modes.divide("shm.latency.8", runs), {"ours": [1, 2], "mpich": [10, 20]})
        self.assertIsNone(modes.warning(), "each run stayed in one mode")
        self.assertEqual(modes.text(), "a cache line goes from one processor to the other and back in 90 ns (4 runs) "
                         "or 400 ns (2 runs); 2 samples are left out, whose run was in another mode than "
                         "most of their measure")

    def test_a_run_during_which_the_mode_changed_does_not_count(self):
        modes = self.machine(90, 400, 90, 95)
        runs = {"ours": [(modes.end_run(modes.probe()), value) for value in (7, 1)]}
        self.assertEqual(modes.divide("shm.latency.8", runs), {"ours": [1]})
        self.assertIn("90 ns (1 run); it changed during 1 run; 1 samples", modes.text())
        self.assertIn("the mode changed during runs of shm.latency.8, and may", modes.warning())
        modes = self.machine(90, 400)
        self.assertEqual(modes.divide("x", {"ours": [(modes.end_run(modes.probe()), 7)]}), {"ours": [7]},
                         "all are kept if no run stayed in one mode")
        self.assertIn("changed during each run", modes.text())

    def test_without_a_known_mode_all_samples_are_kept(self):
        modes = self.machine(None)
        runs = {"ours": [(modes.end_run(modes.probe()), 3), (None, 4)]}
        self.assertEqual(modes.divide("x", runs), {"ours": [3, 4]})
        self.assertIn("not known", modes.text())

    def test_the_mode_is_measured(self):
        done = self.compare("--only", "shm.latency.8")
        self.assert_ok(done)
        if len(os.sched_getaffinity(0)) > 1 and shutil.which("cc"):
            self.assertRegex(done.stdout, r"# a cache line goes .* ns \(\d+ runs?\)|# mode .* during each run")


class Absent(Comparison):
    def test_without_any_mpi_ours_is_measured_alone(self):
        done = self.compare("--only", "shm.latency.8", environment=self.without_mpi())
        self.assert_ok(done)
        values = self.lines(done)["shm.latency.8"]
        self.assertRegex(values["ours"], r"^\d+(\.\d+)?us$")
        self.assertEqual([values[p] for p in PEERS] + [values["ratio"]],
                         ["absent", "absent", "none"])


class BadInput(Comparison):
    def test_one_message_and_exit_code_2(self):
        for words, part in ((["--only", "no.such.*"], "no.such.*"), (["--runs", "0"], "--runs"),
                            (["--bogus"], "--bogus"), (["--seconds", "x"], "--seconds"),
                            (["--json", "no/such/folder.json"], "no/such/folder.json"),
                            (["--upstream", "openmpi=/nowhere"], "/nowhere"),
                            (["--upstream", "lam=/usr"], "lam"),
                            (["--peer", "other=/nowhere"], "/nowhere/bin/mpicc does not exist"),
                            (["--peer", "other"], "NAME=PREFIX"),
                            (["--peer", "ours=/usr"], "'ours'"),
                            (["--only", "npb.EP.S.4"], "--npb"),
                            (["--only", "npb.EP.S.4", "--npb", "/nowhere"], "ep.S.x")):
            with self.subTest(words=words):
                self.assert_refused(self.compare(*words), part)

    def test_a_build_tree_without_the_programs(self):
        done = self.run_program(SCRIPT, "--no-build", "--build-dir", self.work, "--only",
                                "shm.latency.8")
        self.assert_refused(done, "torus-run", "--no-build")


class Failures(Comparison):
    def build_tree(self, launcher_text):
        """A stand-in build tree whose launcher misbehaves."""
        for folder in ("bin", "bench"):
            (self.work / folder).mkdir()
        launcher = self.work / "bin/torus-run"
        launcher.write_text("#!/bin/sh\n" + launcher_text)
        launcher.chmod(0o755)
        for program in ("exchange_qmp", "collectives_ours", "messages_mpi", "threads_mpi", "windows_mpi"):
            (self.work / "bench" / program).touch()

    def compare_with_it(self, *words, only="shm.latency.8"):
        return self.run_program(SCRIPT, "--runs", "1", "--seconds", "0.005", "--no-build",
                                "--build-dir", self.work, "--only", only, *words,
                                environment=self.without_mpi())

    def compare_benchmark(self, output):
        """Compares with a launcher that prints this text instead of running a benchmark."""
        self.build_tree(f"printf '{output}'\n")
        (self.work / "npb/ours").mkdir(parents=True)
        (self.work / "npb/ours/ep.S.x").touch()
        return self.compare_with_it("--npb", "npb", only="npb.EP.S.4")

    def test_a_benchmark_counts_when_it_verified_its_answer(self):
        done = self.compare_benchmark(" Verification    =               SUCCESSFUL\\n"
                                      " Mop/s total     =                  1234.56\\n")
        self.assert_ok(done)
        self.assertEqual(self.lines(done)["npb.EP.S.4"]["ours"], "1235Mop/s")

    def test_a_benchmark_that_did_not_verify_its_answer_failed(self):
        done = self.compare_benchmark(" Verification    =             UNSUCCESSFUL\\n"
                                      " Mop/s total     =                  1234.56\\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.lines(done)["npb.EP.S.4"]["ours"], "failed")
        self.assertIn("did not verify", done.stderr)

    def test_a_job_that_fails_is_named_with_its_message(self):
        self.build_tree("echo the reason >&2\nexit 7\n")
        done = self.compare_with_it()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.lines(done)["shm.latency.8"]["ours"], "failed")
        self.assertEqual(self.lines(done)["shm.latency.8"]["ratio"], "none")
        self.assertIn("exit code 7", done.stderr)
        self.assertIn("the reason", done.stderr)

    def test_a_job_that_hangs_is_ended(self):
        self.build_tree("echo $$ > pid\nexec sleep 1000\n")
        done = self.compare_with_it("--timeout", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("did not end within 1.0 s", done.stderr)
        pid = int((self.work / "pid").read_text())
        self.assertFalse(os.path.exists(f"/proc/{pid}"), "the job is still there")

    def test_a_benchmark_that_hangs_does_not_affect_others(self):
        self.build_tree("exec sleep 1000\n")
        (self.work / "npb/ours").mkdir(parents=True)
        for name in ("ep.S.x", "is.S.x"):
            (self.work / "npb/ours" / name).touch()
        done = self.compare_with_it("--only", "npb.IS.S.4", "--npb", "npb", "--timeout", "1",
                                    only="npb.EP.S.4")
        self.assertEqual(done.returncode, 1)
        lines = self.lines(done)
        self.assertEqual([lines[f"npb.{k}.S.4"]["ours"] for k in ("EP", "IS")], ["failed"] * 2)
        self.assertIn("did not end within 1.0 s", done.stderr)

    def test_figures_measured_before_a_job_hung_are_shown(self):
        self.build_tree("echo library slow\necho scan:8 2.5 2 called\nexec sleep 1000\n")
        done = self.compare_with_it("--only", "collectives.scan.*.shm.8", "--timeout", "1")
        self.assertEqual(done.returncode, 1)
        lines = self.lines(done)
        self.assertEqual(lines["collectives.scan.8.shm.8"]["ours"], "2.50us")
        self.assertEqual(lines["collectives.scan.16KiB.shm.8"]["ours"], "failed")

    def test_a_comparison_that_is_ended_ends_its_job(self):
        self.end_comparison("")

    def test_a_comparison_that_is_ended_while_it_starts_a_job_ends_that(self):
        self.end_comparison("kill -TERM $PPID\n")

    def end_comparison(self, first):
        self.build_tree(f"echo $$ > pid.tmp\nmv pid.tmp pid\n{first}exec sleep 1000\n")
        child = subprocess.Popen([SCRIPT, "--no-build", "--build-dir", self.work, "--only",
                                  "relay.hop.8"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, cwd=self.work, env=self.without_mpi())
        deadline = time.monotonic() + 120
        while not (self.work / "pid").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        if not first:
            child.terminate()
        _, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 1, err)
        self.assertIn("interrupted", err)
        # A moment may pass until the kernel has removed what was killed.
        pid = int((self.work / "pid").read_text())
        deadline = time.monotonic() + 60
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse(os.path.exists(f"/proc/{pid}"), "the job is still there")


if __name__ == "__main__":
    main()
