# SPDX-License-Identifier: BSD-3-Clause
"""Runs check-predictions on two nodes. The accuracy of the predictions is not checked."""

import json
import re
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from program import BUILD, SOURCE, Case, clean_environment, main, skip_without_testbeds


class Testbeds(Case):
    def setUp(self):
        skip_without_testbeds()
        super().setUp()

    def test_a_line_for_each_measurement(self):
        (self.work / "model.json").write_text(json.dumps({"gap_per_byte": 200, "send_overhead": 2000,
                                                          "receive_overhead": 2000, "eager_limit": 16384}))
        done = self.run_program(SOURCE / "bench/check-predictions", "2", "--build-dir", BUILD, "--mbit", "40",
                                "--sizes", "8:512", "--step", "64", "--seconds", "0.05", "--model", "model.json",
                                environment=clean_environment() | {"TMPDIR": str(self.work)})
        self.assert_ok(done)
        lines = re.findall(r"^2 (\w+) (\d+) B, (\d+) calls: measured \d+ us, predicted \d+ us, [+-]\d+ %$",
                           done.stdout, re.MULTILINE)
        self.assertEqual([(o, b) for o, b, _ in lines],
                         [(o, b) for o in ("alltoall", "broadcast", "scatter", "sum") for b in ("8", "512")])
        self.assertTrue(all(1 <= int(calls) <= 1000 for *_, calls in lines))
        self.assertRegex(done.stdout, r"worst \d+ %; \d of 8 within 25 %")


if __name__ == "__main__":
    main()
