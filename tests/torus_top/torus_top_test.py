# SPDX-License-Identifier: BSD-3-Clause
"""torus-top with running jobs: called as FILE SOURCE_DIR BUILD_DIR WATCHED TEST_CLASS."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

SOURCE, BUILD, WATCHED = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
TORUS_RUN, TORUS_TOP = BUILD / "bin/torus-run", BUILD / "bin/torus-top"
LONG = 200  # seconds: against hangs only


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="top-", dir="/tmp")  # names of sockets are short
        self.addCleanup(self.folder.cleanup)
        self.work = Path(self.folder.name)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TORUSMP_")}
        self.environment.update(XDG_RUNTIME_DIR=str(self.work), LC_ALL="C.UTF-8", TERM="xterm-256color")

    def start_job(self, what, ranks, *options):
        """A job that runs until finish()."""
        self.job = subprocess.Popen([TORUS_RUN, "-np", str(ranks), *options, WATCHED, what, self.work / "go"],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment)
        self.addCleanup(self.end_job)
        self.until(lambda: self.path().exists())

    def path(self):
        return self.work / f"torusmp/job-{self.job.pid}"

    def end_job(self):
        self.job.kill()
        self.job.communicate()

    def finish(self):
        """It ends well, and whoever watched it has left no trace."""
        (self.work / "go").touch()
        out, _ = self.job.communicate(timeout=LONG)
        self.assertEqual((self.job.returncode, out), (0, "done\n"))
        self.assertFalse(self.path().exists())

    def until(self, true):
        end = time.monotonic() + LONG
        while not (found := true()):
            self.assertLess(time.monotonic(), end, "this takes too long")
            time.sleep(0.05)
        return found

    def top(self, *words, code=0):
        done = subprocess.run([TORUS_TOP, *map(str, words)], capture_output=True, text=True, env=self.environment,
                              timeout=LONG, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        if code == 0:
            self.assertEqual(done.stderr, "")
        else:
            self.assertEqual(done.stdout, "")
        return done.stdout if code == 0 else done.stderr

    def state(self):
        return json.loads(self.top("--json", "--interval", "300ms"))

    def settled(self, true):
        """A state in which that holds."""
        return self.until(lambda: (state := self.state()) and true(state) and state)


class Waits(Case):
    def test_a_job_that_waits(self):
        self.start_job("hang", 4)
        state = self.settled(lambda s: [r["state"] for r in s["ranks"]] == ["waiting", "computing", "waiting", "waiting"])
        first, computing, sender, other = state["ranks"]
        self.assertEqual((first["call"], first["waits_for"], first["peer"], first["tag"], first["bytes"]),
                         ("MPI_Recv", "receive", 1, 77, 8))
        self.assertEqual((sender["call"], sender["waits_for"], sender["peer"], sender["tag"], sender["bytes"]),
                         ("MPI_Send", "send", 1, 78, 1 << 20))
        self.assertEqual((other["call"], other["waits_for"]), ("MPI_Barrier", "collective"))
        self.assertTrue(computing["slowest"])
        self.assertEqual(state["totals"]["waiting"], 3)
        self.assertRegex(self.top("--list"), rf"^ *{self.job.pid} +4 ranks +1 host  .*watched hang")
        text = self.top("--once", "--interval", "300ms", self.job.pid)
        self.assertRegex(text, r"slowest computes, in no call for [0-9]")
        self.assertRegex(text, r"in MPI_Recv: a message of up to 8 B from rank 1, tag 77")
        rows = list(csv.DictReader(io.StringIO(self.top("--csv", "--interval", "300ms"))))
        self.assertEqual([row["state"] for row in rows], ["waiting", "computing", "waiting", "waiting"])
        self.assertIn("job", subprocess.run([TORUS_RUN, "--monitor", "--once"], capture_output=True, text=True,
                                            env=self.environment, timeout=LONG, check=True).stdout)
        self.finish()
        self.assertEqual(self.top("--list"), "")

    def test_targets_of_windows(self):
        self.start_job("windows", 3)
        state = self.settled(lambda s: [r["state"] for r in s["ranks"]] == ["waiting", "computing", "waiting"])
        origin, computing, locking = state["ranks"]
        self.assertEqual((origin["call"], origin["waits_for"], origin["peer"]), ("MPI_Win_flush", "access", 1))
        self.assertRegex(origin["text"], r"in MPI_Win_flush: rank 1, for a window$")
        self.assertGreater(origin["accesses_sent"], 0)
        self.assertEqual(origin["accesses_open"], 1)
        self.assertEqual((locking["call"], locking["waits_for"], locking["peer"]), ("MPI_Win_lock", "access", 1))
        self.assertRegex(locking["text"], r"in MPI_Win_lock: the lock of a window of rank 2.*, held by rank 1")
        self.assertEqual(locking["lock_waits"], 1)
        self.assertTrue(computing["slowest"])
        self.finish()

    def test_a_stopped_rank(self):
        self.start_job("hang", 3)
        pid = self.settled(lambda s: s["ranks"][1]["pid"] > 0)["ranks"][1]["pid"]
        os.kill(pid, 19)
        self.settled(lambda s: s["ranks"][1]["state"] == "stopped" and s["ranks"][1]["slowest"])
        os.kill(pid, 18)
        self.finish()


class Traffic(Case):
    def test_counters_and_rates(self):
        self.start_job("traffic", 4, "--torus", "4", "--set", "transport.local=links")
        before = self.state()
        after = self.settled(lambda s: s["totals"]["rate"] > 0 and all(
            link["bytes"] + link["written"] + link["read"] > 1 << 20
            for link in s["links"] if link["cable"] and link["way"] == "0+"))
        for first, second in zip(before["links"], after["links"]):
            self.assertEqual((first["from"], first["way"]), (second["from"], second["way"]))
        for link in (link for link in after["links"] if link["cable"]):
            self.assertEqual(link["rendezvous_messages"] > 0, link["way"] == "0+", link)
        rates = [rank["out"] for rank in after["ranks"]]
        self.assertAlmostEqual(sum(rates), after["totals"]["rate"], delta=10)
        self.finish()

    def test_records_are_replayed(self):
        self.start_job("traffic", 2)
        record = self.work / "job.rec"
        live = json.loads(self.top("--json", "--interval", "100ms", "--record", record))
        again = json.loads(self.top("--json", "--replay", record))
        self.assertEqual(again, live)
        self.finish()

    def test_a_record_does_not_control_the_terminal(self):
        """Escape sequences in the names of hosts are shown, not obeyed."""
        self.start_job("traffic", 2)
        record = self.work / "job.rec"
        self.top("--json", "--interval", "100ms", "--record", record)
        name = socket.gethostname().encode()
        record.write_bytes(record.read_bytes().replace(name, b"\x1b" + name[1:]))
        for form in (["--once"], ["--once", "--show", "hosts"], ["--csv"], ["--json"]):
            text = self.top("--replay", record, *form)
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f]", form)
        self.assertIn("\\x1b" + name[1:].decode(), self.top("--replay", record, "--once", "--show", "hosts"))
        self.finish()

    def test_everything_is_reported_at_the_end(self):
        """A job that ends long before the next look is reported to its last byte."""
        self.start_job("count", 4, "--torus", "4", "--set", "transport.local=links")
        record = self.work / "job.rec"
        watcher = subprocess.Popen([TORUS_TOP, "--interval", "1h", "--record", record], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=self.environment)
        self.addCleanup(watcher.communicate)
        self.addCleanup(watcher.kill)
        header = 17 + 2 * 16  # of the file, and of its first two frames

        def looked():
            data = record.read_bytes() if record.exists() else b""
            if len(data) < header:
                return False
            return len(data) > header + struct.unpack("<Q", data[17 + 8:17 + 16])[0]
        self.until(looked)
        self.finish()
        self.assertEqual((watcher.wait(LONG), watcher.stdout.read()), (0, ""))
        state = json.loads(self.top("--json", "--replay", record))
        self.assertEqual([rank["state"] for rank in state["ranks"]], ["ended"] * 4)
        sent = {link["from"]: link["bytes"] + link["written"] for link in state["links"] if link["way"] == "0+"}
        read = {link["from"]: link["read"] for link in state["links"] if link["way"] == "0-"}
        for rank in range(4):
            moved = sent[rank] + read[(rank + 1) % 4]
            self.assertGreaterEqual(moved, 100 * 65536)
            self.assertLess(moved, 1.01 * 100 * 65536)  # and the protocol's own packets

    def test_observers_leave_no_trace(self):
        self.start_job("traffic", 2)
        daemon = next(int(pid) for pid in
                      Path(f"/proc/{self.job.pid}/task/{self.job.pid}/children").read_text().split())
        descriptors = lambda: len(os.listdir(f"/proc/{daemon}/fd"))
        self.settled(lambda s: s["totals"]["rate"] > 0)  # all ranks have joined
        before = descriptors()
        for i in range(1000):
            with socket.socket(socket.AF_UNIX) as watcher:
                watcher.connect(str(self.path()))
                if i % 4:  # others say nothing, or go in the middle of a word
                    watcher.sendall(struct.pack("<IIQI", 160, 2, 4, 50)[:20 if i % 4 != 3 else 9])
                if i % 4 == 1:
                    watcher.recv(16)
        self.until(lambda: descriptors() <= before)
        self.finish()


class BadInput(Case):
    def refused(self, *words, code=2):
        said = self.top(*words, code=code)
        self.assertEqual(len(said.strip().splitlines()), 1, said)
        self.assertTrue(said.startswith("torus-top: "), said)
        return said

    def test_options(self):
        self.assertIn("like 127.0.0.1:8080", self.refused("--serve", "here"))
        self.assertIn("--to-others", self.refused("--serve", "0.0.0.0:80"))
        self.assertIn("expected a job number", self.refused("x"))
        self.assertIn("expected a time from 50ms", self.refused("--interval", "1us"))
        self.assertIn("expected ranks, hosts, links or plane", self.refused("--show", "all"))
        self.assertIn("expected one of", self.refused("--json", "--csv"))

    def test_no_such_job(self):
        self.assertIn("no job 999999 of this user", self.refused("999999", code=1))
        self.assertIn("no job of this user runs", self.refused(code=1))

    def test_no_terminal(self):
        self.start_job("traffic", 2)
        self.assertIn("standard output is not a terminal", self.refused(code=1))
        self.finish()

    def test_records(self):
        record = self.work / "record"
        self.assertIn("No such file", self.refused("--replay", record, code=1))
        record.write_text("something else")
        self.assertIn("expected a file that torus-top --record has written", self.refused("--replay", record, code=1))
        record.write_text("torusmp record 2\n")
        self.assertIn("another version", self.refused("--replay", record, code=1))
        self.start_job("traffic", 2)
        self.top("--once", "--interval", "50ms", "--record", record)
        self.finish()
        whole = record.read_bytes()
        for length in (17, 30, 100, len(whole) - 1):
            record.write_bytes(whole[:length])
            self.assertIn("ends in the middle", self.refused("--once", "--replay", record, code=1))
        record.write_bytes(whole[:17 + 16] + b"\xff" * (len(whole) - 33))
        self.assertIn("damaged", self.refused("--once", "--replay", record, code=1))

    def test_a_job_of_another_version(self):
        (self.work / "torusmp").mkdir(mode=0o700)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.work / "torusmp/job-7"))
            listener.listen()
            child = subprocess.Popen([TORUS_TOP, "7", "--once"], stderr=subprocess.PIPE, text=True, env=self.environment)
            job, _ = listener.accept()
            with job:
                kind, version, length = struct.unpack("<IIQ", job.recv(16))
                self.assertEqual((kind, version, length), (160, 2, 4))
                text = b"the job speaks version 9"
                job.sendall(struct.pack("<IIQ", 130, 9, len(text)) + text)
                self.assertEqual(child.communicate(timeout=LONG)[1], "torus-top: job 7: the job speaks version 9\n")
        self.assertEqual(child.returncode, 1)

    def test_an_observer_of_another_version(self):
        self.start_job("traffic", 2)
        with socket.socket(socket.AF_UNIX) as watcher:
            watcher.connect(str(self.path()))
            watcher.sendall(struct.pack("<IIQI", 160, 99, 4, 50))
            with watcher.makefile("rb") as answer:
                kind, _, length = struct.unpack("<IIQ", answer.read(16))
                self.assertEqual(kind, 130)
                self.assertIn(b"(this program: version 99)", answer.read(length))
                self.assertEqual(answer.read(), b"")
        self.finish()

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root can change its user")
    def test_another_user(self):
        self.start_job("traffic", 2)
        self.work.chmod(0o755)
        unprivileged = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        program = f"import socket; socket.socket(socket.AF_UNIX).connect({str(self.path())!r})"
        self.assertEqual(self.path().stat().st_mode & 0o777, 0o600)
        for folder in (0o700, 0o755):  # the folder keeps him out, and if it did not, the socket does
            self.path().parent.chmod(folder)
            done = subprocess.run([*unprivileged, "/usr/bin/env", "python3", "-c", program], capture_output=True, text=True)
            self.assertIn("Permission denied", done.stderr)
        # Were the socket open to all, the job would still look who comes.
        self.path().chmod(0o666)
        done = subprocess.run([*unprivileged, "/usr/bin/env", "python3", "-c",
                               f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(self.path())!r}); "
                               "print(s.recv(1))"], capture_output=True, text=True, timeout=LONG)
        self.assertTrue("b''" in done.stdout or "reset" in done.stderr, done)
        self.finish()


class Terminal(Case):
    def test_the_screen(self):
        self.start_job("hang", 4)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(TORUS_TOP, ["torus-top", "--interval", "200ms"], self.environment)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 150, 0, 0))
        shown = ""

        def see(pattern):
            nonlocal shown
            end = time.monotonic() + LONG
            while not re.search(pattern, shown):
                self.assertLess(time.monotonic(), end, f"{pattern} is not on the screen:\n{shown}")
                if select.select([terminal], [], [], 0.1)[0]:
                    shown += os.read(terminal, 65536).decode(errors="replace")

        see("computes, in no call")
        see("MPI_Recv")
        os.write(terminal, b"3")
        see("RELAYED")
        os.write(terminal, b"4")
        see("across")
        os.write(terminal, b"q")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(terminal)
        self.finish()


class Served(Case):
    def serve(self, *words):
        child = subprocess.Popen([TORUS_TOP, "--interval", "200ms", *words], stdout=subprocess.PIPE, text=True,
                                 env=self.environment)
        self.addCleanup(child.communicate)
        self.addCleanup(child.terminate)
        line = child.stdout.readline()
        self.assertRegex(line, rf"^torus-top: serving job {self.job.pid} at http://\S+/\?token=[0-9a-f]{{32}}$")
        self.server = child
        self.where, self.token = line.split(" at ")[1].strip().split("?token=")
        return self.where

    def open(self, path="", token=None, **headers):
        token = self.token if token is None else token
        return urllib.request.urlopen(urllib.request.Request(f"{self.where}{path}?token={token}", headers=headers),
                                      timeout=LONG)

    def get(self, path="", token=None, **headers):
        with self.open(path, token, **headers) as answer:
            return answer.read().decode()

    def refused_with(self, path="", token=None, **headers):
        """The code and the text with which a request is refused."""
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.get(path, token, **headers)
        with refused.exception as answer:
            return answer.code, answer.read().decode()

    def test_state_events_and_metrics(self):
        self.start_job("traffic", 4)
        self.serve("--serve", "127.0.0.1:0")
        page = self.get()
        self.assertNotRegex(page, r"(src|href)=\"(?!data:)")
        state = self.until(lambda: (s := json.loads(self.get("api/state"))) and s["totals"]["rate"] > 0 and s)
        self.assertEqual(len(state["ranks"]), 4)
        with self.open("api/events") as events:
            reports = 0
            while reports < 3:
                line = events.readline()
                if line.startswith(b"data: "):
                    self.assertEqual(json.loads(line.removeprefix(b"data: "))["job"]["pid"], self.job.pid)
                    reports += 1
        metrics = self.get("metrics")
        self.assertTrue(metrics.endswith("# EOF\n"))
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
            families = {family.name: family for family in text_string_to_metric_families(metrics)}
            self.assertEqual(len(families["torusmp_rank_cpu_seconds"].samples), 4)
            self.assertEqual(sum(s.value for s in families["torusmp_rank_state"].samples), 4)
        except ModuleNotFoundError:
            self.assertIn("torusmp_rank_cpu_seconds_total{", metrics)
        self.check_dashboard(metrics)
        self.finish()
        self.until(lambda: json.loads(self.get("api/state"))["exit_code"] == 0)

    def test_pages_of_other_sites_and_other_users_get_nothing(self):
        self.start_job("traffic", 2)
        self.serve("--serve", "127.0.0.1:0")
        for host in ("elsewhere.example", "127.attacker.example", "127.0.0.1.attacker.example:80",
                     "localhost.example"):
            code, text = self.refused_with(Host=host)
            self.assertEqual(code, 403, host)
            self.assertNotIn("html", text)
        for host in ("localhost:1", "127.0.0.2", "[::1]:8080"):
            self.assertIn("torus-top", self.get(Host=host))
        wrong = self.token[:-1] + ("0" if self.token[-1] != "0" else "1")
        for token in ("", wrong, self.token + "0"):
            for path in ("", "api/state", "api/events", "metrics"):
                self.assertEqual(self.refused_with(path, token)[0], 401)
        self.assertIn("{", self.get("api/state", "", Authorization=f"Bearer {self.token}"))
        self.finish()

    def test_streams_of_events_are_bounded(self):
        self.start_job("traffic", 2)
        self.serve("--serve", "127.0.0.1:0")
        streams = []
        self.addCleanup(lambda: [stream.close() for stream in streams])
        for _ in range(16):
            streams.append(self.open("api/events"))
        code, text = self.refused_with("api/events")
        self.assertEqual(code, 503)
        self.assertIn("too many streams of events are open (at most 48, and 16 of one client)", text)
        self.assertIn("torus-top", self.get())  # the rest is served
        while streams:
            streams.pop().close()

        def opened():
            try:
                with self.open("api/events"):
                    return True
            except urllib.error.HTTPError as refused:
                refused.close()
                return False
        self.until(opened)
        self.finish()

    def test_a_token_of_the_user(self):
        self.start_job("traffic", 2)
        file = self.work / "token"
        self.serve("--serve", "127.0.0.1:0", "--token", file)
        self.assertEqual(file.read_text(), self.token + "\n")
        first = self.token
        self.serve("--serve", "127.0.0.1:0", "--token", file)
        self.assertEqual(self.token, first)
        file.chmod(0o644)
        self.assertIn("every user may read it", self.top("--serve", "127.0.0.1:0", "--token", file, code=1))
        self.finish()

    def check_dashboard(self, metrics):
        """The dashboard asks for metrics and labels that there are."""
        names = set(re.findall(r"^(\w+)(?=[{ ])", metrics, re.M)) | set(re.findall(r"(\w+)=\"", metrics))
        names |= {"job", "instance"}  # Prometheus adds these
        dashboard = json.loads((SOURCE / "examples/monitoring/grafana-dashboard.json").read_text())
        asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        self.assertGreater(len(asked), 5)
        for expression in asked:
            words = re.findall(r"\btorusmp_\w+", expression)
            self.assertTrue(words, expression)
            for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
                words += labels.replace(" ", "").split(",")
            self.assertLessEqual(set(words), names, expression)
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                self.assertLessEqual(set(re.findall(r"{{(\w+)}}", target.get("legendFormat", ""))), names)

    def test_a_port_that_is_taken(self):
        self.start_job("traffic", 2)
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            self.assertIn("another program may use that port", self.top("--serve", f"127.0.0.1:{port}", code=1))
        self.finish()

    def test_others_need_the_token_and_may_use_any_name(self):
        self.start_job("traffic", 2)
        self.serve("--serve", "127.0.0.1:0", "--to-others")
        self.assertIn("torus-top", self.get(Host="headnode.example:8080"))
        self.assertEqual(self.refused_with(token="")[0], 401)
        self.finish()

    def test_the_page_in_a_browser(self):
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if not chromium:
            self.skipTest("no chromium")
        self.start_job("hang", 4, "--torus", "4")
        self.serve("--serve", "127.0.0.1:0")
        self.until(lambda: json.loads(self.get("api/state"))["totals"]["waiting"] == 3)
        browser = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   f"--user-data-dir={self.work}/browser", "--timeout=8000"]

        def drawn():
            """What the page has become; nothing: the browser has looked before its first event had come."""
            dom = subprocess.run([*browser, "--dump-dom", f"{self.where}?token={self.token}#rank=0"], capture_output=True, text=True,
                                 timeout=LONG, env=self.environment | {"HOME": str(self.work)}).stdout
            return dom if 'data-ranks="4"' in dom else None
        dom = self.until(drawn)
        self.assertRegex(dom, r"<dd>waits [^<]* in MPI_Recv: a message of up to 8 B from rank 1, tag 77</dd>")
        self.assertRegex(dom, r"slowest: computes, in no call")
        self.assertIn('class="badge">live<', dom)
        self.assertIn('data-shape="ring"', dom)
        # Charts have scales: one that ends at the number of ranks, one with a unit.
        self.assertRegex(dom, r'id="waiting-chart"[^>]* data-top="4"')
        self.assertRegex(dom, r'id="rate-chart"[^>]* data-top="[0-9.]+ [kMG]?B/s"')
        self.assertRegex(dom, r'id="totals"[^>]*>ring of 4, 1 host:')
        self.finish()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[4:], verbosity=2)
