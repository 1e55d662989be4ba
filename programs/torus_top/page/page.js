// The rest of the page: the selected rank, tables, charts, and the event stream.
function element(id) { return document.getElementById(id); }

function rows(table, items, cells) {
  const body = element(table).tBodies[0];
  body.replaceChildren(...items.map(item => {
    const row = document.createElement("tr");
    for (const cell of cells(item)) {
      const td = document.createElement("td");
      td.textContent = cell && cell.text !== undefined ? cell.text : cell;
      if (cell && cell.kind) td.className = cell.kind;
      row.append(td);
    }
    if (item.rank !== undefined) {
      row.dataset.rank = item.rank;
      row.onclick = () => select(item.rank);
    }
    return row;
  }));
}

function select(rank) {
  model.selected = rank;
  drawAll();
}

function drawRankBox() {
  const rank = model.state.ranks[model.selected];
  element("rank-title").textContent = rank ? "Rank " + rank.rank : "Click a rank";
  const facts = !rank ? [] : [
    ["does", rank.state === "waiting" || rank.state === "computing" ? rank.text : rank.state],
    ["host", `${rank.host}, pid ${rank.pid}`], ["at", coordinatesOf(rank.rank, model.state.job.dims).join(", ")],
    ["out, in", `${rateText(rank.out)}, ${rateText(rank.in)}`], ["messages", countText(rank.messages) + " a second"],
    ["CPU", (rank.cpu * 100).toFixed(0) + " %"], ["receives posted", rank.posted],
    ["unexpected", rank.unexpected], ["open requests", rank.requests], ["collectives", rank.collectives],
    ...(rank.accesses_direct + rank.accesses_sent + rank.accesses_served ? [
      ["accesses to windows", `${countText(rank.accesses)} a second, ${rank.accesses_open} open`],
      ["direct, sent, served", [rank.accesses_direct, rank.accesses_sent, rank.accesses_served].map(countText).join(", ")],
      ["locks waited for here", rank.lock_waits]] : []),
    ...(rank.slowest ? [["mark", "slowest: the others wait"]] : []), ...(rank.busiest ? [["mark", "busiest"]] : [])];
  element("rank").replaceChildren(...facts.flatMap(([name, value]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    return [dt, dd];
  }));
  const links = !rank ? [] : model.state.links.filter(link => link.from === rank.rank);
  element("rank-links").hidden = links.length === 0;
  rows("rank-links", links, link => {
    const back = model.state.links.find(other => other.from === link.to && other.to === link.from &&
      (!link.cable || other.way === link.way[0] + (link.way[1] === "+" ? "-" : "+")));
    return [link.way, link.to < 0 ? "" : link.to, rateText(link.rate), back ? rateText(back.rate) : "",
      { text: faultsOf(link), kind: isFaulty(link) ? "fault" : "" }];
  });
}

function drawTables() {
  const state = model.state, totals = state.totals, job = state.job;
  element("title").textContent = `job ${job.pid}: ${job.program}`;
  document.title = `${totals.waiting}/${job.size} wait: job ${job.pid}`;
  element("totals").textContent = `${shapeText(job)}, ${plural(job.hosts.length, "host")}: ` +
    `${totals.active} active, ${totals.waiting} waiting, ${totals.computing} computing` +
    (totals.other ? `, ${totals.other} other` : "") + (totals.faults ? `; ${plural(totals.faults, "link")} with faults` : "") +
    (state.exit_code === null ? "" : `; the job has ended with exit code ${state.exit_code}`);
  const waits = state.ranks.filter(rank => ["waiting", "computing", "stopped"].includes(rank.state))
    .sort((a, b) => (b.slowest - a.slowest) || (b.seconds - a.seconds)).slice(0, 12);
  rows("waits", waits, rank => [rank.rank, (rank.slowest ? "slowest: " : "") + rank.text]);
  const links = [...state.links].sort((a, b) => (isFaulty(b) - isFaulty(a)) || (b.rate - a.rate)).slice(0, 16);
  rows("links", links, link => [link.from, link.to < 0 ? "" : link.to, link.way, link.transport, rateText(link.rate),
    link.share === null ? "" : (link.share * 100).toFixed(0) + " %", { text: faultsOf(link), kind: isFaulty(link) ? "fault" : "" }]);
}

// The smallest of 1, 2, 5, 10, 20 ... that is not below the value.
function roundedUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find(step => step * power >= value * (1 - 1e-9));
}

// `text` formats values on the scale. `most` is the end of the scale; without it the scale follows
// the values.
function drawChart(id, value, text, most) {
  const { context, width, height } = fit(element(id)), history = model.history;
  const end = history.length ? history[history.length - 1].seconds : 0, begin = end - historySeconds;
  const top = most || roundedUp(Math.max(1, ...history.map(value))), left = 62, bottom = height - 16;
  const x = t => left + (t - begin) / historySeconds * (width - left - 4), y = v => bottom - v / top * (bottom - 8);
  const line = (x0, y0, x1, y1) => {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  };
  context.strokeStyle = colour("line");
  context.fillStyle = colour("faint");
  context.font = "11px system-ui, sans-serif";
  for (let minute = 0; minute <= historySeconds / 60; ++minute) {
    const at = x(end - minute * 60);
    line(at, 4, at, bottom);
    context.textAlign = minute === 0 ? "right" : "center";
    context.textBaseline = "alphabetic";
    if (minute < historySeconds / 60) context.fillText(minute === 0 ? "now" : `-${minute} min`, at, height - 2);
  }
  for (const part of [0, 0.5, 1]) {
    if (most && most * part % 1) continue; // no fractions of ranks
    line(left, y(top * part), width - 4, y(top * part));
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(text(top * part), left - 5, y(top * part));
  }
  context.strokeStyle = colour("active");
  context.lineWidth = 2;
  context.beginPath();
  history.forEach((point, i) => context[i ? "lineTo" : "moveTo"](x(point.seconds), y(value(point))));
  context.stroke();
  element(id).dataset.top = text(top);
}

function drawCharts() {
  const totals = model.state.totals;
  element("rate-now").textContent = rateText(totals.rate);
  element("messages-now").textContent = countText(totals.messages) + "/s";
  element("waiting-now").textContent = `${totals.waiting} of ${model.state.job.size}`;
  drawChart("rate-chart", point => point.rate, rateText);
  drawChart("messages-chart", point => point.messages, count => countText(count) + "/s");
  drawChart("waiting-chart", point => point.waiting, String, model.state.job.size);
}

function drawLegend() {
  const states = ["active", "waiting", "computing", "stopped", "other"];
  element("legend").replaceChildren(...states.map(state => {
    const span = document.createElement("span"), dot = document.createElement("i");
    dot.style.background = colour(state);
    span.append(dot, state);
    return span;
  }), (() => {
    const span = document.createElement("span"), bar = document.createElement("i");
    bar.className = "bar";
    bar.style.background = `linear-gradient(90deg, ${[0, .25, .5, .75, 1].map(load => loadColour(load, isDark())).join(",")})`;
    span.append(bar, "load of a link; dashed: fault");
    return span;
  })());
}

function makeSlices() {
  const dims = model.state.job.dims;
  if (element("slices").childElementCount || dims.length <= 3) return;
  dims.forEach((extent, d) => {
    if (d < 3) return;
    const label = document.createElement("label"), choice = document.createElement("select");
    for (let c = 0; c < extent; ++c) choice.add(new Option(c, c));
    choice.onchange = () => { torusView.slice[d] = Number(choice.value); drawTorus(); };
    label.append(`dimension ${d} at `, choice);
    element("slices").append(label);
  });
}

function drawAll() {
  if (!model.state) return;
  makeSlices();
  drawTorus();
  drawRankBox();
  drawTables();
  drawCharts();
}

function listen() {
  const events = new EventSource("api/events" + location.search);
  const badge = element("link-state");
  events.onmessage = event => {
    take(JSON.parse(event.data));
    badge.textContent = model.state.exit_code === null ? "live" : "ended";
    drawAll();
  };
  events.onerror = () => { badge.textContent = "torus-top does not answer"; };
}

turnTorus();
drawLegend();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawLegend(); drawAll(); });
addEventListener("resize", drawAll);
if (location.hash.startsWith("#rank=")) model.selected = Number(location.hash.slice(6));
listen();
