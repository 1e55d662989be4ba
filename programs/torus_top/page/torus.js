// The torus in three dimensions: turned with the pointer or the arrow keys; a click selects a rank.
// A single dimension is drawn flat: a ring as a circle, an open line as a line.
const torusView = { yaw: null, pitch: null, zoom: 1, slice: [], places: [] };

// Cividis: readable with colour vision deficiency, dark to light; reversed on light pages.
const loadColours = [[0, 32, 77], [60, 77, 110], [124, 123, 120], [187, 173, 108], [255, 234, 70]];
function loadColour(load, dark) {
  const x = Math.min(Math.max(dark ? 0.25 + 0.75 * load : 1 - load, 0), 1) * (loadColours.length - 1);
  const i = Math.min(Math.floor(x), loadColours.length - 2);
  const mix = k => Math.round(loadColours[i][k] + (loadColours[i + 1][k] - loadColours[i][k]) * (x - i));
  return `rgb(${mix(0)} ${mix(1)} ${mix(2)})`;
}

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }
function isDark() { return matchMedia("(prefers-color-scheme: dark)").matches; }
function stateColour(state) {
  return colour({ active: "active", waiting: "waiting", computing: "computing", stopped: "stopped" }[state] || "other");
}

function fit(canvas) {
  const scale = devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  if (canvas.width !== Math.round(box.width * scale) || canvas.height !== Math.round(box.height * scale)) {
    canvas.width = Math.round(box.width * scale);
    canvas.height = Math.round(box.height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  return { context, width: box.width, height: box.height };
}

function drawTorus() {
  const state = model.state, canvas = document.getElementById("torus");
  if (!state) return;
  const { context, width, height } = fit(canvas), dims = state.job.dims, dark = isDark();
  const shown = dims.map((_, d) => d).filter(d => d < 3);
  const long = shown.filter(d => dims[d] > 1), only = long.length === 1 && dims.length <= 3 ? long[0] : null;
  const ring = only !== null && state.job.periodic[only];
  if (torusView.yaw === null) [torusView.yaw, torusView.pitch] = only === null ? [-0.55, 0.42] : [0, 0];
  const extent = d => (shown.includes(d) ? dims[d] : 1);
  const circle = only === null ? 0 : Math.max(0.6, dims[only] / (2 * Math.PI)); // a unit between ranks
  const radius = ring ? circle + 0.4 : only !== null ? dims[only] / 2 : Math.hypot(extent(0), extent(1), extent(2)) / 2 + 0.4;
  const size = Math.min(width / (2 * radius), height / (only === null || ring ? 2 * radius : 2)) * 0.92 * torusView.zoom;
  const [sy, cy, sp, cp] = [Math.sin(torusView.yaw), Math.cos(torusView.yaw), Math.sin(torusView.pitch), Math.cos(torusView.pitch)];
  const project = (x, y, z) => {
    const u = x * cy + z * sy, w = -x * sy + z * cy, v = y * cp - w * sp, depth = y * sp + w * cp;
    const near = 1 + depth / (radius * 5);
    return { x: width / 2 + u * size * near, y: height / 2 + v * size * near, depth, near };
  };
  const onCircle = c => {
    const angle = 2 * Math.PI * c / dims[only];
    return project(circle * Math.sin(angle), -circle * Math.cos(angle), 0);
  };
  const point = at => ring ? onCircle(at[only]) :
    only !== null ? project(at[only] - (dims[only] - 1) / 2, 0, 0) :
    project(...[0, 1, 2].map(d => (d < dims.length ? at[d] - (dims[d] - 1) / 2 : 0)));
  // The lines that draw a link. A link that wraps around is two stubs, one at each end; in a ring
  // each link is an arc.
  const linesOf = (from, to, wraps, d) => {
    if (ring) return [[...Array(25).keys()].map(i => onCircle(from.at[only] + i / 24))];
    if (!wraps) return [[from, to]];
    const beyond = (at, step) => point(at.map((c, e) => (e === d ? c + step : c)));
    return [[from, beyond(from.at, 0.42)], [to, beyond(to.at, -0.42)]];
  };
  const places = new Map(), items = [];
  for (const rank of state.ranks) {
    const at = coordinatesOf(rank.rank, dims);
    if (at.some((c, d) => d >= 3 && c !== (torusView.slice[d] || 0))) continue;
    places.set(rank.rank, { ...point(at), rank, at });
  }
  for (const [number, place] of places)
    for (const d of shown) {
      const next = neighbour(number, d, dims, state.job.periodic);
      if (!next || !places.has(next.rank)) continue;
      const out = model.byLink.get(number + " " + d + "+");
      let back = model.byLink.get(next.rank + " " + d + "-");
      if (back && back.to !== number) back = null;
      items.push({ depth: (place.depth + places.get(next.rank).depth) / 2, lines: linesOf(place, places.get(next.rank), next.wraps, d), out, back });
    }
  const farther = (a, b) => a.depth - b.depth;
  for (const item of items.sort(farther)) drawLink(context, item, size, dark);
  // Numbers are drawn over all links, because a number crossed by a link is unreadable.
  torusView.places = [...places.values()].sort(farther);
  for (const place of torusView.places) drawRank(context, place, size);
  canvas.dataset.ranks = String(places.size);
  canvas.dataset.shape = ring ? "ring" : only !== null ? "line" : "grid";
}

function drawLink(context, { lines, out, back }, size, dark) {
  const faulty = [out, back].some(link => link && isFaulty(link));
  const load = Math.max(out ? out.load : 0, back ? back.load : 0);
  const busy = (out && out.rate > 0) || (back && back.rate > 0);
  context.lineWidth = Math.max(1, Math.min(12, size * (0.025 + 0.06 * load)));
  context.strokeStyle = faulty ? colour("fault") : busy ? loadColour(load, dark) : colour("idle");
  context.setLineDash(faulty ? [6, 4] : []);
  for (const line of lines) {
    context.beginPath();
    line.forEach((at, i) => context[i ? "lineTo" : "moveTo"](at.x, at.y));
    context.stroke();
  }
  context.setLineDash([]);
}

function drawRank(context, place, size) {
  const { rank, near } = place, radius = Math.max(4, Math.min(28, size * 0.15 * near));
  place.radius = radius;
  context.beginPath();
  context.arc(place.x, place.y, radius, 0, 2 * Math.PI);
  context.fillStyle = stateColour(rank.state);
  context.fill();
  if (rank.slowest || rank.state === "stopped" || model.selected === rank.rank) {
    context.lineWidth = model.selected === rank.rank ? 3 : 2;
    context.strokeStyle = model.selected === rank.rank ? colour("text") : colour("fault");
    context.stroke();
  }
  if (radius < 8) return;
  context.fillStyle = rank.state === "active" ? "#fff" : "#111";
  context.font = `600 ${Math.min(radius * 0.95, 15)}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(rank.rank, place.x, place.y + 0.5);
}

function turnTorus() {
  const canvas = document.getElementById("torus");
  let held = null, moved = 0;
  canvas.addEventListener("pointerdown", event => {
    held = { x: event.clientX, y: event.clientY };
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    if (!held) return;
    const dx = event.clientX - held.x, dy = event.clientY - held.y;
    held = { x: event.clientX, y: event.clientY };
    moved += Math.abs(dx) + Math.abs(dy);
    torusView.yaw += dx * 0.008;
    torusView.pitch = Math.max(-1.5, Math.min(1.5, torusView.pitch + dy * 0.008));
    drawTorus();
  });
  canvas.addEventListener("pointerup", event => {
    held = null;
    if (moved > 4) return;
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const hit = torusView.places.filter(place => Math.hypot(place.x - x, place.y - y) <= place.radius + 3)
      .sort((a, b) => b.depth - a.depth)[0];
    if (hit) select(hit.rank.rank);
  });
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    torusView.zoom = Math.max(0.3, Math.min(6, torusView.zoom * Math.exp(-event.deltaY * 0.001)));
    drawTorus();
  }, { passive: false });
  canvas.addEventListener("keydown", event => {
    const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    if (!step) return;
    event.preventDefault();
    torusView.yaw += step[0];
    torusView.pitch += step[1];
    drawTorus();
  });
}
