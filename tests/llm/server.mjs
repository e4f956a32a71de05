// An OpenAI-compatible front over llama.cpp, as small as the tests need: one model, one answer at a time.
//   node server.mjs --model FILE.gguf --port N [--host 127.0.0.1]
// GET /health and GET /v1/models answer 503 until the model is loaded. POST /v1/chat/completions, whole or as a stream; a client that
// leaves stops its answer. Where a tool has to be called, a grammar makes the model call it.

import { createServer } from "node:http";
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { getLlama, LlamaChat } from "node-llama-cpp";

const { values: given } = parseArgs({
  options: { model: { type: "string" }, port: { type: "string" }, host: { type: "string", default: "127.0.0.1" } },
});
if (!given.model || !given.port) {
  console.error("usage: node server.mjs --model FILE --port N [--host ADDRESS]");
  process.exit(64);
}
const CONTEXT_TOKENS = 2048;
const MOST_TOKENS = 1024;
const THREADS = 1; // several wait for each other, which is slow beyond measure while other programs want the processors
const MOST_BODY = 4 << 20;
const name = basename(given.model, ".gguf");
let engine = null; // until the model is loaded
let turn = Promise.resolve(); // the answer before
let busy = 0;

const log = (words) => console.log(`${new Date().toISOString()} ${words}`);

async function load() {
  const begun = Date.now();
  const llama = await getLlama({ build: "never", gpu: false, progressLogs: false, logLevel: "error" });
  const model = await llama.loadModel({ modelPath: given.model });
  const context = await model.createContext({ contextSize: CONTEXT_TOKENS, threads: THREADS });
  const sequence = context.getSequence();
  engine = { llama, model, sequence, chat: new LlamaChat({ contextSequence: sequence }) };
  log(`${name} is loaded after ${Date.now() - begun} ms`);
}

// The conversation in the library's own shape: system, user, model, in turn.
function history(messages) {
  const text = ({ content }) => (Array.isArray(content) ? content.map((part) => part.text ?? "").join("") : content ?? "");
  const items = messages.map((message) => {
    if (message.role === "assistant") return { type: "model", response: [text(message)] };
    const type = message.role === "system" || message.role === "developer" ? "system" : "user";
    return { type, text: text(message) };
  });
  return [...items, { type: "model", response: [] }];
}

// What the answer must be, when a tool has to be called: its name and its arguments.
function forcedCall({ tools = [], tool_choice: choice }) {
  if (choice !== "required" && !choice?.function) return null;
  const wanted = tools.map((tool) => tool.function).filter((tool) => choice === "required" || tool.name === choice.function.name);
  if (wanted.length === 0) throw new RangeError("tool_choice names no tool that is given");
  const call = ({ name, parameters }) => ({ type: "object", properties: { name: { const: name }, arguments: parameters ?? {} } });
  return { oneOf: wanted.map(call) };
}

async function generate(request, signal, onText) {
  const { llama, sequence, chat } = engine;
  const schema = forcedCall(request);
  const grammar = schema && (await llama.createGrammarForJsonSchema(schema));
  await sequence.clearHistory();
  const before = sequence.tokenMeter.getState();
  const { response, metadata } = await chat.generateResponse(history(request.messages), {
    signal,
    stopOnAbortSignal: true,
    temperature: request.temperature ?? 0,
    maxTokens: Math.min(request.max_tokens ?? request.max_completion_tokens ?? MOST_TOKENS, MOST_TOKENS),
    ...(grammar ? { grammar } : { onTextChunk: onText }),
  });
  const used = sequence.tokenMeter.diff(before);
  const usage = {
    prompt_tokens: used.usedInputTokens,
    completion_tokens: used.usedOutputTokens,
    total_tokens: used.usedInputTokens + used.usedOutputTokens,
  };
  log(`${request.messages.length} messages, ${usage.prompt_tokens} + ${usage.completion_tokens} tokens: ${metadata.stopReason}`);
  const reason = metadata.stopReason === "maxTokens" ? "length" : "stop";
  if (!schema || metadata.stopReason === "abort" || reason === "length") return { message: { content: response }, reason, usage };
  const { name, arguments: values } = grammar.parse(response);
  const call = { id: `call_${Date.now()}`, type: "function", function: { name, arguments: JSON.stringify(values) } };
  return { message: { content: null, tool_calls: [call] }, reason: "tool_calls", usage };
}

async function complete(request, response) {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const mine = turn.then(async () => {
    if (gone.signal.aborted) return;
    busy += 1;
    const id = `chatcmpl-${Date.now()}`;
    const common = { id, created: Math.floor(Date.now() / 1000), model: name };
    const piece = (choices, more) =>
      response.write(`data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices, ...more })}\n\n`);
    const delta = (delta, reason = null) => piece([{ index: 0, delta, finish_reason: reason }]);
    try {
      if (request.stream) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        delta({ role: "assistant", content: "" });
      }
      const { message, reason, usage } = await generate(request, gone.signal, (content) => {
        if (request.stream) delta({ content });
      });
      if (!request.stream) {
        const choices = [{ index: 0, message: { role: "assistant", ...message }, finish_reason: reason }];
        return answer(response, 200, { ...common, object: "chat.completion", choices, usage });
      }
      if (message.tool_calls) delta({ tool_calls: message.tool_calls.map((call, index) => ({ index, ...call })) });
      delta({}, reason);
      if (request.stream_options?.include_usage) piece([], { usage });
      response.end("data: [DONE]\n\n");
    } finally {
      busy -= 1;
    }
  });
  turn = mine.catch(() => {});
  await mine;
}

function answer(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function body(request) {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) {
    text += chunk;
    if (text.length > MOST_BODY) throw new RangeError("the request is too large");
  }
  return JSON.parse(text);
}

async function serve(request, response) {
  if (!engine) return answer(response, 503, { error: { message: "the model is being loaded", type: "unavailable" } });
  switch (`${request.method} ${request.url}`) {
    case "GET /health":
      return answer(response, 200, { status: "ok", busy });
    case "GET /v1/models":
      return answer(response, 200, { object: "list", data: [{ id: name, object: "model", owned_by: "local" }] });
    case "POST /v1/chat/completions":
      return complete(await body(request), response);
    default:
      return answer(response, 404, { error: { message: "there is nothing here", type: "not_found" } });
  }
}

const server = createServer((request, response) => {
  serve(request, response).catch((error) => {
    console.error(error.stack);
    const status = error instanceof SyntaxError || error instanceof RangeError ? 400 : 500;
    if (response.headersSent) response.destroy();
    else answer(response, status, { error: { message: error.message, type: "invalid_request_error" } });
  });
});
server.on("error", (error) => {
  console.error(`it cannot listen on port ${given.port}: ${error.message}`);
  process.exit(1);
});
server.listen(Number(given.port), given.host, () => log(`listening on ${given.host}:${given.port}`));
load().catch((error) => {
  console.error(`${given.model} cannot be loaded: ${error.message}`);
  process.exit(1);
});
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(0));
