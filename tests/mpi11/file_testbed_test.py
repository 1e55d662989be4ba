#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of one host, in a testbed of namespaces in which only node 0 sees the folder:
file_testbed_test.py SOURCE TORUS_RUN FILE_SOAK FILE_FAULTS TORUS_INFO."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE, TORUS_RUN, SOAK, FAULTS, INFO = (sys.argv.pop(1) for _ in range(5))
sys.path[:0] = [os.path.join(SOURCE, "tests", folder) for folder in ("testbed", "faults")]
from cable_testbeds import TIMEOUT, run_under_faults                   # noqa: E402
from harness import TestbedTest, eventually, main, tool                # noqa: E402
from netns.testbed import Testbed                                      # noqa: E402

# The number of random schedules of cables, and of random sequences of calls. The long run has more.
SCHEDULES = int(os.environ.get("FILE_SCHEDULES", 1))
HIDDEN = os.path.join(SOURCE, "tests", "mpi11", "on_hidden_disk.sh")


class Files(TestbedTest):
    def up(self, dims):
        self.testbed = self.name()
        tool("up", dims, "--name", self.testbed)
        self.disk = self.path("disk")
        os.makedirs(os.path.join(self.disk, "below"))
        os.chmod(self.disk, 0o777)
        os.chmod(self.folder.name, 0o755)

    def command(self, *program, at=None, mount="-", settings=(), keep_going=False):
        options = ["--config", Testbed(self.testbed).geometry_file, "--agent", "ip netns exec"]
        options += ["--keep-going"] * keep_going
        for setting in ([f"io.at={at}"] if at is not None else []) + list(settings):
            options += ["--set", setting]
        return [TORUS_RUN, *options, HIDDEN, self.disk, mount, *program]

    def run_hidden(self, *program, code=0, **how):
        """Returns both streams of a job in which only the first rank sees the contents of the folder."""
        done = subprocess.run(self.command(*program, **how), text=True, timeout=200, capture_output=True)
        text = done.stdout + done.stderr
        self.assertTrue(done.returncode == code if code is not None else done.returncode != 0,
                        f"exit {done.returncode}\n{text}")
        return text

    def on_disk(self, folder=""):
        return sorted(os.listdir(os.path.join(self.disk, folder)))

    def test_random_calls_move_the_same_bytes_as_the_model(self):
        self.up("2x2x2")
        for seed in range(1, SCHEDULES + 1):
            self.run_hidden(SOAK, str(seed), "150", self.disk, at=f"{self.disk}={self.testbed}-0")
        self.assertEqual(self.on_disk(), ["below"])

    def test_ranks_without_one_on_the_host_of_the_disk_use_its_files(self):
        self.up("2x2x2")
        for seed in range(1, SCHEDULES + 1):
            self.run_hidden(SOAK, str(seed), "150", self.disk, "outside", at=f"{self.disk}={self.testbed}-0")
        # Without a setting, hosts that do not have the folder ask the others.
        self.run_hidden(SOAK, "4", "60", os.path.join(self.disk, "below"), "outside")
        self.assertEqual(self.on_disk(), ["below"])
        self.assertEqual(self.on_disk("below"), [])
        self.run_hidden(FAULTS, "alone", self.disk, at=f"{self.disk}={self.testbed}-0")
        self.run_hidden(FAULTS, "alone", os.path.join(self.disk, "below"))
        self.assertEqual(self.on_disk("below"), [])

    def test_cables_that_die_and_come_back_change_no_byte(self):
        self.up("2x2x2")
        at = f"{self.disk}={self.testbed}-0"
        for seed in range(1, SCHEDULES + 1):
            command = self.command(SOAK, str(seed), "400", self.disk, *["outside"] * (seed % 2), at=at,
                                   settings=[f"transport.timeout={TIMEOUT}s"])
            with self.subTest(seed=seed):
                run_under_faults(
                    command, Testbed(self.testbed), seed,
                    lambda job: eventually("the file is open",
                                           lambda: len(self.on_disk()) == 2 or job.poll() is not None))
                self.assertEqual(self.on_disk(), ["below"])

    def test_a_folder_that_only_one_host_has_needs_no_setting(self):
        self.up("2x2")
        self.run_hidden(SOAK, "3", "100", os.path.join(self.disk, "below"))
        self.run_hidden(FAULTS, "made", os.path.join(self.disk, "below"))
        self.assertEqual(self.on_disk("below"), ["made"])
        # A file that is there already says where it lives.
        os.rename(os.path.join(self.disk, "below", "made"), os.path.join(self.disk, "made"))
        self.run_hidden(FAULTS, "made", self.disk)

    def test_the_host_of_a_new_file_is_not_guessed(self):
        self.up("2")
        zero, one = f"{self.testbed}-0", f"{self.testbed}-1"
        output = self.run_hidden(FAULTS, "made", self.disk, code=None)
        self.assertIn(f"cannot open {self.disk}/made: hosts {zero} and {one} have different file systems there", output)
        self.assertIn("MPI_ERR_BAD_FILE", output)
        self.assertIn(f'Set io.at to say which host has it, like io.at = {{ "{self.disk}" = "HOST" }}', output)
        output = self.run_hidden(FAULTS, "made", self.disk, at=f"{self.disk}=elsewhere", code=None)
        self.assertIn(f'io.at has "{self.disk}" = "elsewhere", but this job has no rank on that host', output)
        output = self.run_hidden(FAULTS, "made", self.disk, at=f"{self.disk}=each", code=None)
        self.assertIn("every host has a file of its own there", output)
        self.assertEqual(self.on_disk(), ["below"])
        self.run_hidden(FAULTS, "made", self.disk, at=f"{self.disk}={zero}")
        self.assertEqual(self.on_disk(), ["below", "made"])

    def test_torus_info_shows_the_access_to_a_file_with_the_reason(self):
        self.up("2")
        zero, one = f"{self.testbed}-0", f"{self.testbed}-1"
        path = f"{self.disk}/below/x"
        output = self.run_hidden(INFO, "--path", path)
        self.assertRegex(output, rf"(?m)^  {zero} .* the folder +directly$")
        self.assertRegex(output, rf"(?m)^  {one} +tmpfs torusmp_other on {self.disk} +nothing \(No such file or directory\) +"
                               rf"through rank 0 on host {zero}$")
        self.assertRegex(output, rf"(?m)^Why: only host {zero} has the folder \(\w+\)\.$")
        output = self.run_hidden(INFO, "--path", f"{self.disk}/x", code=1)
        self.assertRegex(output, rf"(?m)^  {one} .* the folder +not at all$")
        self.assertIn(f"It cannot be opened: hosts {zero} and {one} have different file systems there", output)
        output = self.run_hidden(INFO, "--path", f"{self.disk}/x", at=f"{self.disk}={one}")
        self.assertRegex(output, rf"(?m)^  {zero} .* through rank 1 on host {one}$")
        self.assertIn(f'Why: io.at has "{self.disk}" = "{one}".', output)

    def test_the_report_of_a_dead_rank_names_the_file_that_it_was_writing(self):
        self.up("2x2")
        path = f"{self.disk}/below/torusmp_killed"
        for victim in "0", "3":   # beside the disk, and far from it
            with self.subTest(victim):
                output = self.run_hidden(FAULTS, f"killed_{victim}", f"{self.disk}/below", code=None)
                # Rank 3 is under a shell.
                self.assertRegex(output, rf"torus-run: rank {victim} \(host {self.testbed}-{victim}, pid \d+\) (was killed by "
                                       rf"SIGKILL \(Killed\)|ended .*) while writing {path}; the job is ended")
                # Old bytes or new ones, none foreign.
                with open(path, "rb") as file:
                    found = file.read()
                row, ranks = 1000, 4
                for i in range(0, len(found), row):
                    self.assertIn(set(found[i:i + row]) - {0}, [set(), {i // row % ranks + 1}])
                os.unlink(path)

    def test_the_host_of_the_disk_is_named_when_it_is_lost(self):
        self.up("2x2")
        path = f"{self.disk}/below/torusmp_killed"
        job = subprocess.Popen(self.command(FAULTS, "written", f"{self.disk}/below"), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        eventually("the file is written", lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        tool("kill-node", self.testbed, "0")
        output = job.communicate(timeout=100)[0]
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(output, rf"(?m)^torus-run: .*host {self.testbed}-0\b")

    def test_files_whose_host_dies_end_with_errors_that_name_it(self):
        self.up("2x2")
        output = self.run_hidden(FAULTS, "orphaned", self.disk, at=f"{self.disk}={self.testbed}-0", keep_going=True,
                                 settings=["transport.timeout=1s"])
        self.assertRegex(output, rf"rank 0 of MPI_COMM_WORLD on host {self.testbed}-0 cannot write {self.disk}/orphaned_0: ")

    def test_members_that_live_close_a_file_of_a_host_without_a_member(self):
        self.up("2x2")
        self.run_hidden(FAULTS, "bereaved", self.disk, at=f"{self.disk}={self.testbed}-0", keep_going=True,
                        settings=["transport.timeout=1s"])
        self.assertEqual(self.on_disk(), ["below"])

    def test_a_file_is_deleted_on_the_host_where_it_lives(self):
        self.up("2")
        zero = f"{self.testbed}-0"
        output = self.run_hidden(FAULTS, "deleted", self.disk, at=f"{self.disk}={zero}")
        self.assertIn(f"rank 0 of MPI_COMM_WORLD on host {zero} cannot delete {self.disk}/deleted: No such file", output)
        self.assertEqual(self.on_disk(), ["below"])

    def test_a_rank_that_waits_for_the_disk_names_its_call(self):
        self.up("3")
        job = subprocess.Popen(self.command(FAULTS, "stuck", f"{self.disk}/below", settings=["watchdog.after=1s"]),
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.wait)
        self.addCleanup(job.terminate)
        output, wanted = "", {"rank 1": "MPI_File_get_size", "rank 2": "MPI_File_write_at"}
        for line in job.stdout:
            output += line
            wanted = {rank: call for rank, call in wanted.items() if not (rank in line and call in line)}
            if not wanted:
                return
        self.fail(f"the job ended and did not name {wanted}\n{output}")

    def test_errors_of_the_disk_have_their_class_on_every_rank(self):
        self.up("2x2")
        at = f"{self.disk}={self.testbed}-0"
        for case, mount in ("full", "size=4m"), ("read_only", "ro"), ("permissions", "-"), ("names", "-"), \
                ("limited", "-"), ("shrinks", "-"), ("vanishes", "-"):
            with self.subTest(case):
                self.run_hidden(FAULTS, case, self.disk, at=at, mount=mount)
        output = self.run_hidden(FAULTS, "made", self.disk, at=at, mount="ro", code=None)
        self.assertIn(f"rank 0 on host {os.uname().nodename} cannot open {self.disk}/made: Read-only file system", output)


if __name__ == "__main__":
    main()
