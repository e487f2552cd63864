// Questions to the console, and answers that go on.

export const session = {user: null, token: "", may_write: false, server: "", program: null};

export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(method, path, body) {
  let answer;
  try {
    answer = await fetch(`/api${path}`, {
      method,
      headers: method === "GET" ? {} : {"content-type": "application/json", "x-console-token": session.token},
      body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
    });
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

// Follow an answer that changes by itself; call what is returned to stop.
export function live(path, words, take) {
  return follow(`/api/live${path}${query(words)}`, take);
}

export function tail(key, take) {
  return follow(`/api/tail/${key}`, take);
}

function follow(address, take) {
  let isOver = false;
  const events = new EventSource(address);
  events.addEventListener("state", (event) => { if (!isOver) take(JSON.parse(event.data)); });
  events.addEventListener("error", () => {
    if (!isOver && events.readyState === EventSource.CLOSED) window.dispatchEvent(new Event("signed-out"));
  });
  return () => { isOver = true; events.close(); };
}
