// The tree of every process of this installation.

import { get } from "./api.js";
import { bytes, el, span } from "./format.js";

const root = document.getElementById("processes");

/** Reads and shows the tree. */
export async function showProcesses() {
  const processes = await get("/api/processes");
  const known = new Set(processes.map((process) => process.pid));
  const below = Map.groupBy(processes, (process) => (known.has(process.parent) ? process.parent : null));
  const rows = [];
  const walk = (parent, depth) => {
    for (const process of below.get(parent) ?? []) {
      rows.push(row(process, depth));
      walk(process.pid, depth + 1);
    }
  };
  walk(null, 0);
  const head = ["Process", "Task", "Age", "CPU", "Memory"].map((name) => el("th", { scope: "col" }, name));
  root.replaceChildren(
    el("h2", {}, "Processes"),
    el("p", { class: "faint" }, `${processes.length} processes belong to this installation. Each is accounted for and ends with its owner.`),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Process tree" }, el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows))),
  );
}

function row(process, depth) {
  const task = process.task === null ? "" : el("a", { href: `#/task/${process.task}` }, String(process.task));
  const indent = `depth-${Math.min(depth, 6)}`;
  return el(
    "tr",
    {},
    el("td", { class: indent }, el("span", { class: "role" }, process.role.toLowerCase()), el("span", { class: "pid" }, String(process.pid)), el("code", {}, process.command)),
    el("td", { "data-name": process.task === null ? null : "Task" }, task),
    el("td", { "data-name": "Age" }, process.age_seconds === null ? "unknown" : span(process.age_seconds * 1000)),
    el("td", { "data-name": "CPU" }, process.cpu_micros === null ? "unknown" : `${(process.cpu_micros / 1e6).toFixed(1)} s`),
    el("td", { "data-name": "Memory" }, bytes(process.resident_bytes)),
  );
}
