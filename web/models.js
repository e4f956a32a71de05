// What models cost and where they are reached, and the keys for them. A key goes in and never comes back.

import { get, post, remove } from "./api.js";
import { dollars, el } from "./format.js";

const root = document.getElementById("models");

/** Reads and shows everything. `say` tells what was done, `failed` what was not. */
export async function showModels({ say, failed }) {
  const [models, keys, costs] = await Promise.all([get("/api/models"), get("/api/keys"), get("/api/cost-breakdown?by=route")]);
  // What is being typed is not taken away.
  if (root.contains(document.activeElement) && document.activeElement.value) return;
  const again = () => showModels({ say, failed }).catch(failed);
  const act = (what, done) => what.then(() => say(done)).then(again).catch(failed);
  root.replaceChildren(
    el("h2", {}, "Models"),
    el("p", {}, models.default ? `${models.default} answers when no route is named.` : "There is no route to a model.", " ", el("span", { class: "faint" }, models.why)),
    ...models.problems.map((problem) => el("p", { class: "faint" }, problem)),
    spending(models, costs),
    routes(models, costs),
    el("h2", {}, "Keys"),
    el("p", { class: "faint" }, `${keys.protection}.`),
    table(
      ["Provider", "Key", "Found", ""],
      keys.keys.map((key) => [key.provider, key.ending ? `…${key.ending}` : "kept", key.found, key.set_at ? forget(key, act) : null]),
    ),
    setKey(keys, act),
  );
}

function spending({ limits }, { whole }) {
  const line = ({ limit, nanos, accounted_nanos: spent }) => {
    const amount = nanos === null ? "no limit" : dollars(nanos);
    return [words[limit], spent === null ? amount : `${dollars(spent)} of ${amount}`];
  };
  const open = whole.accounted_nanos > whole.settled_nanos;
  return el(
    "dl",
    { class: "facts" },
    ...limits.map(line).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]),
    el("dt", {}, "Charged"),
    el("dd", {}, open ? `${dollars(whole.settled_nanos)} known, at most ${dollars(whole.accounted_nanos)}` : dollars(whole.settled_nanos)),
  );
}

const words = { total: "In all", hour: "In an hour", tree: "A task's tree", task: "A task" };

function routes({ routes, default: chosen }, { groups }) {
  const used = new Set(groups.map((group) => group.key));
  // A catalogue can hold hundreds: what is used, chosen or tried is shown.
  const few = routes.length > 20 ? routes.filter((route) => used.has(route.id) || route.id === chosen || route.health.state !== "untried") : routes;
  const price = (nanos) => (nanos === undefined ? "?" : dollars(nanos));
  const rest = routes.length - few.length;
  return el(
    "div",
    {},
    table(
      ["Route", "In, a million", "Out, a million", "Health"],
      few.map((route) => [
        route.id === chosen ? `${route.id} (default)` : route.id,
        price(route.price?.input_nanos_per_million),
        price(route.price?.output_nanos_per_million),
        route.health.reason ? `${route.health.state}: ${route.health.reason}` : route.health.state,
      ]),
    ),
    rest > 0 ? el("p", { class: "faint" }, `${rest} more; "ouroboros models" lists them all.`) : null,
  );
}

function table(names, rows) {
  if (rows.length === 0) return el("p", { class: "faint" }, "None.");
  const head = names.map((name) => el("th", { scope: "col" }, name));
  const body = rows.map((cells) => el("tr", {}, ...cells.map((cell, index) => el("td", { "data-name": index && cell ? names[index] : null }, cell ?? ""))));
  return el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...body)));
}

function forget(key, act) {
  const path = `/api/keys/${encodeURIComponent(key.provider)}`;
  return el("button", { type: "button", class: "quiet", onclick: () => act(remove(path), `The key of ${key.provider} is forgotten.`) }, "Forget");
}

function setKey({ providers }, act) {
  const provider = el("select", { "aria-label": "Provider" }, ...providers.map(({ name }) => el("option", { value: name }, name)));
  const key = el("input", { type: "password", placeholder: "Key", "aria-label": "Key", autocomplete: "off", spellcheck: "false", required: true });
  const submit = (event) => {
    event.preventDefault();
    const body = { provider: provider.value, key: key.value };
    key.value = "";
    act(post("/api/keys", body), `A key of ${body.provider} is kept.`);
  };
  return el("form", { class: "set-key", onsubmit: submit }, provider, key, el("button", {}, "Keep key"));
}
