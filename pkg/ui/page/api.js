// How the page asks the server. The token is kept here only, and is gone with the page.

let token = "";

export function useToken(given) {
  token = given;
}

export const hasToken = () => token !== "";

/** Refused is an answer that is an error: its status, and the server's own words. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** request sends a request, and returns the object in the answer. */
export async function request(method, path, body, type = "application/json") {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = type;
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), cache: "no-store" });
  const object = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, object.message || answer.statusText);
  return object;
}

/**
 * watch calls a function with each change after a version, until the watch ends. It is a web socket:
 * of other connections a browser opens only six to a server.
 */
export function watch(path, version, told) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.search = new URLSearchParams({ watch: 1, resourceVersion: version });
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

function base64url(text) {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
