"use strict";
// The page's model of the job, and the formatting of numbers. No drawing.
const model = { state: null, history: [], selected: null, byLink: new Map() };

const historySeconds = 300;

function rateText(rate) {
  if (rate >= 1e9) return (rate / 1e9).toFixed(2) + " GB/s";
  if (rate >= 1e6) return (rate / 1e6).toFixed(1) + " MB/s";
  if (rate >= 1e3) return (rate / 1e3).toFixed(1) + " kB/s";
  return rate.toFixed(0) + " B/s";
}

function countText(count) {
  return count >= 1e6 ? (count / 1e6).toFixed(2) + " M" : count >= 1e4 ? (count / 1e3).toFixed(1) + " k" : count.toFixed(0);
}

function plural(count, word) { return `${count} ${word}${count === 1 ? "" : "s"}`; }

// Returns for example "ring of 4" or "2x2x4open".
function shapeText(job) {
  if (job.dims.length === 1) return `${job.periodic[0] ? "ring" : "line"} of ${job.dims[0]}`;
  return job.dims.map((n, d) => n + (job.periodic[d] ? "" : "open")).join("x");
}

function faultsOf(link) {
  const faults = [];
  if (link.down) faults.push("down");
  if (link.detour) faults.push("cable dead, on a detour");
  if (link.damaged) faults.push(link.damaged + " damaged");
  if (link.dropped) faults.push(link.dropped + " dropped");
  if (link.resent) faults.push(link.resent + " resent");
  return faults.join(", ");
}

function isFaulty(link) { return link.down || link.detour || link.damaged > 0; }

function take(state) {
  model.state = state;
  model.byLink = new Map(state.links.map(link => [link.from + " " + link.way, link]));
  const last = model.history[model.history.length - 1];
  if (!last || state.totals.seconds > last.seconds) model.history.push(state.totals);
  while (model.history.length && model.history[0].seconds < state.totals.seconds - historySeconds) model.history.shift();
}

// The first dimension varies slowest, as in the geometry file.
function coordinatesOf(rank, dims) {
  const at = new Array(dims.length).fill(0);
  for (let d = dims.length - 1; d >= 0; --d) { at[d] = rank % dims[d]; rank = Math.floor(rank / dims[d]); }
  return at;
}
function rankAt(at, dims) { return at.reduce((rank, c, d) => rank * dims[d] + c, 0); }

function neighbour(rank, dimension, dims, periodic) {
  const at = coordinatesOf(rank, dims);
  if (dims[dimension] === 1) return null;
  if (at[dimension] + 1 === dims[dimension] && !periodic[dimension]) return null;
  at[dimension] = (at[dimension] + 1) % dims[dimension];
  return { rank: rankAt(at, dims), wraps: at[dimension] === 0 };
}
