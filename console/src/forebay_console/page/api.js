// Requests to the console, and answers that are updated live.

export const session = {user: null, token: "", may_write: false, server: "", program: null};

export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const AGAIN_AFTER_MS = 300;

// A question (GET) may be sent twice, a change may not.
async function send(method, path, body) {
  if (method !== "GET") return fetch(path, {method, headers: {"content-type": "application/json", "x-console-token": session.token}, body: JSON.stringify(body ?? {})});
  try {
    return await fetch(path);
  } catch {
    await new Promise((wake) => setTimeout(wake, AGAIN_AFTER_MS));
    return fetch(path);
  }
}

async function ask(method, path, body) {
  let answer;
  try {
    answer = await send(method, `/api${path}`, body);
  } catch {
    throw new ApiError(0, "The console does not answer. Is it still running?");
  }
  const found = await answer.json().catch(() => ({}));
  if (answer.status === 401 && !path.startsWith("/session")) window.dispatchEvent(new Event("signed-out"));
  if (!answer.ok) throw new ApiError(answer.status, found.error ?? `The console answered ${answer.status}.`);
  return found;
}

export const get = (path, words) => ask("GET", path + query(words));
export const post = (path, body) => ask("POST", path, body);

export function query(words = {}) {
  const used = Object.entries(words).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return used.length ? `?${new URLSearchParams(used)}` : "";
}

export async function whoAmI() {
  Object.assign(session, await ask("GET", "/session"));
  return session.user !== null;
}

export async function signIn(user, password) {
  Object.assign(session, await ask("POST", "/session", {user, password}));
}

export async function signOut() {
  await ask("DELETE", "/session");
  session.user = null;
}

// Follow an answer that changes; call the returned function to stop.  Followers of the same address share a connection,
// and a hidden page follows nothing: a browser has few connections to one host for all its tabs.
const lines = new Map();

export function live(path, words, take) {
  const address = `/api/live${path}${query(words)}`;
  const line = lines.get(address) ?? {takers: new Set(), last: null, close: null};
  if (!lines.has(address)) {
    lines.set(address, line);
    open(address, line);
  } else if (line.last) {
    take(line.last);
  }
  line.takers.add(take);
  return () => {
    line.takers.delete(take);
    if (line.takers.size) return;
    line.close?.();
    lines.delete(address);
  };
}

function open(address, line) {
  if (document.hidden) return;
  line.close = follow(address, (found) => {
    line.last = found;
    line.takers.forEach((take) => take(found));
  });
}

document.addEventListener("visibilitychange", () => {
  for (const [address, line] of lines) {
    line.close?.();
    line.close = null;
    open(address, line);
  }
});

export function tail(key, take) {
  return follow(`/api/tail/${key}`, take);
}

function follow(address, take) {
  let isOver = false;
  let state = null;
  const tell = (name) => { if (!isOver) window.dispatchEvent(new Event(name)); };
  const events = new EventSource(address);
  events.addEventListener("state", (event) => { state = JSON.parse(event.data); if (!isOver) take(state); });
  events.addEventListener("change", (event) => {
    for (const [way, value] of JSON.parse(event.data)) {
      const last = way.pop();
      way.reduce((at, step) => at[step], state)[last] = value;
    }
    if (!isOver) take(state);
  });
  events.addEventListener("open", () => tell("console-here"));
  events.addEventListener("error", () => tell(events.readyState === EventSource.CLOSED ? "signed-out" : "console-away"));
  return () => { isOver = true; events.close(); };
}
