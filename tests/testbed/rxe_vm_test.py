#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The plans of rxe-vm, without any guest: rxe_vm_test.py TORUS_INFO."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TORUS_INFO = sys.argv.pop(1)
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
from netns.plan import device_name, parse_dims   # noqa: E402
from vm.wiring import Wiring                   # noqa: E402

TORI = ("2", "3", "5", "2x2", "2x3", "4x3", "2x2x2", "3x2x4")


class Routes(unittest.TestCase):
    def walk(self, wiring, start, end):
        """The devices through which a packet passes on its path to the address of `end`."""
        at, arrived = start, []
        while at != end.node:
            cable = next(e for e in wiring.ends(at) if e.place == wiring.way_to(at, end))
            at = wiring.far[cable].node
            arrived.append(wiring.far[cable].place)
            self.assertLessEqual(len(arrived), sum(wiring.dims), f"from {start} to {end}: a loop")
        return arrived

    def test_every_address_is_reached_on_a_shortest_path(self):
        for torus in TORI:
            wiring = Wiring(parse_dims(torus), "many", routes=True)
            for end in wiring.far:
                for start in wiring.nodes():
                    if start != end.node:
                        self.assertEqual(len(self.walk(wiring, start, end)), len(wiring.torus.path(start, end.node)))

    def test_a_queue_pair_between_the_ends_of_a_path_leaves_and_arrives_by_its_own_devices(self):
        for torus in TORI:
            wiring = Wiring(parse_dims(torus), "many", routes=True)
            for low in wiring.nodes():
                for high in range(low + 1, wiring.torus.size):
                    path = wiring.torus.path(low, high)
                    ends = {low: device_name(*path[0]), high: device_name(path[-1][0], -path[-1][1])}
                    for near, far in ((low, high), (high, low)):
                        end = next(e for e in wiring.ends(far) if e.place == ends[far])
                        self.assertEqual(wiring.way_to(near, end), ends[near], f"{torus}: {near} to {far}")
                        self.assertEqual(self.walk(wiring, near, end)[-1], ends[far], f"{torus}: {near} to {far}")


class Files(unittest.TestCase):
    def test_torus_info_reads_the_geometry_of_both_shapes(self):
        for shape, device in (("one", "n0d1p"), ("many", "d1m")):
            with tempfile.NamedTemporaryFile("w", suffix=".toml") as f:
                f.write(Wiring([2, 2], shape).geometry())
                f.flush()
                done = subprocess.run([TORUS_INFO, "--config", f.name], text=True, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(device, done.stdout)

    def test_bad_input_is_refused_with_one_message(self):
        for words, part in ((["links", "2x"], "not a torus"),
                            (["links", "2", "--shape", "one", "--routes"], "--shape many"),
                            (["links", "2", "--mtu", "5"], "1280"), (["run", "2"], "which command"),
                            (["links", "2", "--open", "7"], "unknown dimension"), (["fly"], "fly")):
            done = subprocess.run([os.path.join(HERE, "rxe-vm"), *words], text=True, capture_output=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


unittest.main()
