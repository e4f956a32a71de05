// The only place that calls the server.

const confirmation = localStorage.getItem("ouroboros-confirm") ?? "";

/** A refusal of the server, or no answer at all (`code` is then "unreachable"). */
export class Refusal extends Error {
  constructor(status, { code, message, remedy }) {
    super(message);
    this.status = status;
    this.code = code;
    this.remedy = remedy;
  }

  /** Whether only logging in again helps. */
  get loggedOut() {
    return this.status === 401 || (this.status === 403 && this.code === "forbidden");
  }
}

async function call(method, path, { body, headers, signal } = {}) {
  const sent = { "Ouroboros-Confirm": confirmation, ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers: sent, body: body && JSON.stringify(body), signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, { code: "unreachable", message: "The server does not answer." });
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => ({ code: "unknown", message: `The server answered ${response.status}.` }));
  throw new Refusal(response.status, told);
}

/** Reads JSON. */
export async function get(path) {
  return (await call("GET", path)).json();
}

/** Acts; gives the JSON of the answer, if it has one. */
export async function post(path, body) {
  const response = await call("POST", path, { body });
  return response.status === 204 ? null : response.json();
}

/** Removes. */
export async function remove(path) {
  await call("DELETE", path);
}

/** Reads the last bytes of an output stream as text; "" when there are none. */
export async function tail(number, stream, bytes) {
  try {
    const response = await call("GET", `/api/tasks/${number}/logs/${stream}?tail=${bytes}`);
    return await response.text();
  } catch (refusal) {
    if (refusal.code === "expired") return "";
    throw refusal;
  }
}

/** Follows an output stream: calls `take` with text until the attempt is over. */
export async function follow(number, stream, { attempt, from, signal }, take) {
  const query = new URLSearchParams({ follow: "true", from });
  if (attempt) query.set("attempt", attempt);
  const response = await call("GET", `/api/tasks/${number}/logs/${stream}?${query}`, { signal });
  const decoder = new TextDecoder();
  for await (const bytes of pieces(response)) take(decoder.decode(bytes, { stream: true }));
}

/** Reads a stream of events: calls `take({ id, event, data })` for each until the server ends it. */
export async function events(path, { after, signal }, take) {
  const headers = after === null ? {} : { "Last-Event-ID": String(after) };
  const response = await call("GET", path, { headers, signal });
  const decoder = new TextDecoder();
  let buffer = "";
  for await (const bytes of pieces(response)) {
    buffer += decoder.decode(bytes, { stream: true });
    const messages = buffer.split("\n\n");
    buffer = messages.pop();
    for (const message of messages) {
      const fields = Object.fromEntries(message.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
      if (fields.event) take({ id: fields.id ? Number(fields.id) : null, event: fields.event, data: JSON.parse(fields.data) });
    }
  }
}

async function* pieces(response) {
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
