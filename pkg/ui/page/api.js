// How the page asks the server. The token is kept here only, and is gone with the page.

let token = "";

export const useToken = (given) => (token = given);

export const hasToken = () => token !== "";

/** Refused is an answer that is an error: its status, and the server's own words. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(method, path, { body, type = "application/json", accept = "application/json", signal } = {}) {
  const headers = { Accept: accept };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = type;
  const url = new URL(path, location.href);
  // The server indents what it sends to a browser, which makes lists twice as long, and ten times as slow.
  url.searchParams.set("pretty", "0");
  const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body), cache: "no-store", signal });
  if (answer.ok) return answer;
  const status = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, status.message || answer.statusText);
}

/** request sends a request, and returns the object in the answer. */
export async function request(method, path, body, type) {
  const answer = await ask(method, path, { body, type });
  return answer.json().catch(() => ({}));
}

/** read calls a function with each piece of a text as it comes, until its end or until a signal ends it. */
export async function read(path, signal, told) {
  const { body } = await ask("GET", path, { accept: "*/*", signal });
  for (const reader = body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    told(value);
  }
}

/**
 * watch calls a function with each change after a version, until the watch ends. It is a web socket:
 * of other connections a browser opens only six to a server.
 */
export function watch(path, version, told) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.search = new URLSearchParams({ watch: 1, resourceVersion: version, pretty: 0 });
  // A browser gives a web socket no header, so the token is one of its protocols.
  const socket = new WebSocket(url, token ? [`base64url.bearer.authorization.k8s.io.${base64url(token)}`, "base64.binary.k8s.io"] : []);
  return new Promise((ended) => {
    socket.onmessage = (message) => {
      const event = JSON.parse(message.data);
      if (event.type === "ERROR") socket.close();
      else told(event);
    };
    socket.onclose = ended;
  });
}

const base64url = (text) => new TextEncoder().encode(text).toBase64({ alphabet: "base64url", omitPadding: true });
