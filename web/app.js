// The page: what is shown, and what keeps it true.

import { events, get, post } from "./api.js";
import { el, rich, setText } from "./format.js";
import { keys } from "./keys.js";
import { showModels } from "./models.js";
import { TaskDetail } from "./output.js";
import { showProcesses } from "./processes.js";
import { Requests } from "./requests.js";
import { TaskList } from "./tasks.js";

const byId = (id) => document.getElementById(id);
const list = new TaskList({ act, failed });
const detail = new TaskDetail({ act, failed });
const requests = new Requests(byId("requests"), { say: toast, failed });

// Reading again, at most so often however much happens.
const refreshList = paced(500, async () => {
  await list.load();
  await list.tails();
});
const refreshState = paced(1000, async () => showState(await get("/api/state")));
const refreshRequests = paced(500, () => requests.load());
const refreshDetail = paced(300, () => detail.refresh());
const refreshProcesses = paced(1000, async () => {
  if (!byId("processes").hidden) await showProcesses();
});

const refreshModels = paced(2000, async () => {
  if (!byId("models").hidden) await showModels({ say: toast, failed });
});

/** Makes `read` run at most every `pause` ms, and once more when it was asked for meanwhile. */
function paced(pause, read) {
  let busy = false;
  let again = false;
  return async function run() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      await read();
    } catch (error) {
      failed(error);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    busy = false;
    if (again) {
      again = false;
      run();
    }
  };
}

function refreshAll() {
  refreshList();
  refreshState();
  refreshRequests();
  refreshDetail();
  refreshProcesses();
  refreshModels();
}

// The stream of events. It is open while the page can be seen.
let stream = null;
let last = null;

async function connect() {
  let pause = 500;
  while (!document.hidden) {
    const control = new AbortController();
    stream = control;
    try {
      await events("/api/events", { after: last, signal: control.signal }, (message) => {
        if (message.event === "caught_up") {
          pause = 500;
          setLink("live", "Live");
          refreshAll();
          detail.watch();
        } else if (message.event === "event") {
          last = message.id;
          happened(message.data);
        }
      });
    } catch (error) {
      if (control.signal.aborted) return;
      if (error.loggedOut) return loggedOut();
      // What was missed is no longer kept: everything is read again anyway.
      if (error.code === "events_expired") last = null;
    }
    if (control.signal.aborted) return;
    setLink("lost", "Reconnecting");
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, 10000);
  }
}

function happened({ number, event }) {
  if (event.type.startsWith("request_") || event.type === "settled") refreshRequests();
  refreshList();
  refreshState();
  refreshProcesses();
  refreshModels();
  if (number !== null && number === detail.number) refreshDetail();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stream?.abort();
    detail.stop();
  } else {
    connect();
  }
});

function setLink(state, text) {
  byId("link").dataset.state = state;
  setText(byId("link-text"), text);
}

function loggedOut() {
  stream?.abort();
  detail.stop();
  setLink("lost", "Logged out");
  byId("requests").hidden = true;
  byId("main").replaceChildren(
    el(
      "div",
      { class: "notice" },
      el("h1", {}, "The login has ended"),
      el("p", {}, "A restart of the server ends every login. Run this in a terminal of this machine:"),
      el("pre", {}, "ouroboros open"),
    ),
  );
}

function failed(error) {
  if (error.loggedOut) return loggedOut();
  // The link says that the server is away; once is enough.
  if (error.code === "unreachable") return;
  toast(error.remedy ? `${error.message} ${error.remedy}` : error.message);
}

let toastTimer;
function toast(text) {
  byId("toast").replaceChildren(...rich(text));
  byId("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => (byId("toast").hidden = true), 6000);
}

function showState(state) {
  const { queue, slots } = state;
  const numbers = [
    ["Running", queue.running],
    ["Queued", queue.queued],
    ["Waiting", queue.waiting],
    ["Held", queue.held],
    ...(queue.paused ? [["Paused", queue.paused]] : []),
    ["Slots", `${slots.busy}/${slots.configured}`],
  ];
  byId("numbers").replaceChildren(...numbers.map(([term, value]) => el("div", {}, el("dt", {}, term), el("dd", {}, String(value)))));
  byId("alarms").replaceChildren(
    ...state.alarms.map((alarm) => el("li", { role: "alert" }, el("strong", {}, ...rich(alarm.message)), ...(alarm.remedy ? [" ", ...rich(alarm.remedy)] : []))),
  );
  if (state.stopping) setLink("lost", "Stopping");
  else if (byId("link").dataset.state === "live") setText(byId("link-text"), state.ready ? "Live" : "Live, not ready");
}

async function act(what, task) {
  if (!task) return;
  try {
    if (what === "cancel" && (await sure(task))) {
      await post(`/api/tasks/${task.number}/cancel`);
      toast(`Task ${task.number} is being cancelled.`);
    } else if (what === "resume") {
      // The pause that is shown, and no later one.
      await post(`/api/tasks/${task.number}/resume`, { pause: task.pause?.id });
      toast(`Task ${task.number} goes on.`);
    } else if (what === "retry") {
      const { number } = await post(`/api/tasks/${task.number}/retry`);
      toast(`Task ${task.number} runs again as ${number}.`);
    }
  } catch (error) {
    failed(error);
  }
  refreshList();
  refreshDetail();
}

function sure(task) {
  const dialog = byId("ask");
  setText(byId("ask-text"), `${task.number} · ${task.name}`);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

// Where the address says we are.
function route() {
  const [, view = "", name] = location.hash.split("/");
  const shown = view === "processes" || view === "models" ? view : "tasks";
  for (const name of ["tasks", "processes", "models"]) byId(name).hidden = name !== shown;
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.dataset.view === shown;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const number = view === "task" && /^\d+$/.test(name ?? "") ? Number(name) : null;
  byId("tasks").classList.toggle("open", number !== null);
  if (number !== null) {
    list.select(number);
    if (detail.number !== number) detail.open(number).catch(failed);
  } else {
    detail.close();
  }
  if (shown === "processes") showProcesses().catch(failed);
  if (shown === "models") showModels({ say: toast, failed }).catch(failed);
}

window.addEventListener("hashchange", route);

for (const chip of document.querySelectorAll("[data-filter]")) {
  chip.addEventListener("click", () => {
    for (const other of document.querySelectorAll("[data-filter]")) other.setAttribute("aria-pressed", String(other === chip));
    list.filter = chip.dataset.filter;
    list.load().catch(failed);
  });
}
let typing;
byId("search").addEventListener("input", (event) => {
  list.name = event.target.value.trim();
  clearTimeout(typing);
  typing = setTimeout(() => list.load().catch(failed), 150);
});

byId("help-open").addEventListener("click", () => byId("help").showModal());
byId("logout").addEventListener("click", async () => {
  byId("help").close();
  await post("/api/logout").catch(() => {});
  loggedOut();
});

function step(by) {
  const number = list.step(by);
  // Beside the list an open task follows the selection.
  if (number !== null && detail.number !== null) location.hash = `#/task/${number}`;
}

keys({
  j: () => step(1),
  ArrowDown: () => step(1),
  k: () => step(-1),
  ArrowUp: () => step(-1),
  Enter: () => list.selected !== null && (location.hash = `#/task/${list.selected}`),
  Escape: () => (location.hash = "#/"),
  c: () => act("cancel", list.current()),
  r: () => act("retry", list.current()),
  "/": () => byId("search").focus(),
  t: () => (location.hash = "#/"),
  p: () => (location.hash = "#/processes"),
  m: () => (location.hash = "#/models"),
  "?": () => byId("help").showModal(),
});

// Clocks move on and running tasks write without an event of their own.
setInterval(() => {
  if (document.hidden) return;
  const now = Date.now();
  list.tick(now);
  detail.tick(now);
}, 1000);
setInterval(() => {
  if (document.hidden || byId("link").dataset.state !== "live") return;
  list.tails();
  refreshProcesses();
}, 2000);

route();
connect();
