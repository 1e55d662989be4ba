# SPDX-License-Identifier: BSD-3-Clause
"""The figures of torus-bench for files. It must delete the files that it creates."""

import json
import os
import sys
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
from bench_program import BENCH, QUICK, TORUS_RUN, Program
from program import SOURCE, clean_environment, main, skip_without_testbeds

COLUMNS = [("one file", "write"), ("one file", "read"), ("one file", "to disk"), ("one file, strided", "write"),
           ("one file, strided", "read"), ("a file a rank", "write"), ("a file a rank", "read"), ("plain", "write"),
           ("plain", "read"), ("plain", "to disk")]


class Io(Program):
    def test_every_way_has_a_rate_and_no_file_is_left(self):
        # measure() looks at what is left in the folder.
        document = self.measure("io", "--torus", "2x2", "--sizes", "1:64KiB", "--step", "256", "--row", "100")
        self.assertEqual([(c["group"], c["name"]) for c in document["columns"]], COLUMNS)
        self.assertEqual({c["unit"] for c in document["columns"]}, {"MB/s"})
        self.assertEqual([r["bytes"] for r in document["rows"]], [1, 256, 65536])
        self.assertEqual(document["title"], "Files in ., 4 ranks")
        self.assertIn("Strided: rows of 100B of all ranks in turn.", document["notes"])
        self.assertIn("Plain: rank 0, beside the disk, moves the same amount with pwrite and pread.", document["notes"])

    def test_ranks_reach_the_files_over_links(self):
        document = self.measure("io", "--torus", "2", "--sizes", "64KiB:64KiB", "--set", "transport.local=links")
        self.assertGreater(sum(l["bytes_sent"] for l in document["links"]), 64 << 10)

    def test_a_folder_that_cannot_be_used(self):
        os.mkdir(self.work / "file")
        (self.work / "file" / "x").write_text("")
        for folder, reason in (("no/such", "No such file or directory"), ("file/x", "Not a directory")):
            with self.subTest(folder=folder):
                done = self.run_program(BENCH, "io", "--torus", "2", "--folder", folder)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr, rf"(?m)^torus-bench: MPI_ERR_\w+: .*MPI_File_open: rank 0 on host \S+ cannot "
                                              rf"open {folder}/torus-bench-\d+-one: {reason}")
                self.assertEqual(done.stderr.count("torus-bench: "), 1, done.stderr)

    def test_a_disk_that_is_full(self):
        # The small size keeps the limit, the large one does not. Shared memory would not fit in it.
        done = self.run_program("bash", "-c", 'ulimit -f 256; exec "$@"', "bash", BENCH, "io", "--torus", "2",
                                "--sizes", "4KiB:1MiB", "--step", "256", "--set", "transport.use=tcp", *QUICK)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^torus-bench: MPI_ERR_QUOTA: .*MPI_File_write_at_all: rank \d on host \S+ "
                                      r"cannot write \./torus-bench-\d+-one: it would be larger")
        self.assertEqual(done.stderr.count("torus-bench: "), 1, done.stderr)
        self.assertEqual(os.listdir(self.work), [])


class Testbeds(Program):
    """Hosts are network namespaces, and only node 0 sees the folder."""

    def setUp(self):
        skip_without_testbeds()
        super().setUp()

    def test_the_disk_of_one_host(self):
        name, disk = f"io{os.getpid()}-{time.monotonic_ns() % 10**6}", self.work / "disk"
        disk.mkdir()
        done = self.run_program(SOURCE / "tests/testbed/torus-netns", "run", "3", "--name", name, "--", TORUS_RUN,
                                "--set", f"io.at={disk}={name}-0", SOURCE / "tests/mpi11/on_hidden_disk.sh", disk, "-",
                                BENCH, "io", "--folder", disk, "--sizes", "64KiB:64KiB", *QUICK, "--json", "out.json",
                                environment=clean_environment() | {"TMPDIR": str(self.work)})
        self.assert_ok(done)
        document = json.loads((self.work / "out.json").read_text())
        self.assertIn("Plain: rank 0, beside the disk, moves the same amount with pwrite and pread.", document["notes"])
        links = self.check_links(document, [(rank, way) for rank in range(3) for way in ("0+", "0-")])
        for way in ("0+", "0-"):
            self.assertGreater(links[0, way]["bytes_received"], 64 << 10, "ranks do not write to the disk's host")
            self.assertGreater(links[0, way]["bytes_sent"], 64 << 10, "ranks do not read from the disk's host")
        self.assertEqual(list(disk.iterdir()), [])


if __name__ == "__main__":
    main()
