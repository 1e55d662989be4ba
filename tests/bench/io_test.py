# SPDX-License-Identifier: BSD-3-Clause
"""What torus-bench tells of files, and that none is left."""

import os
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from bench_program import BENCH, QUICK, Program
from program import main

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


if __name__ == "__main__":
    main()
