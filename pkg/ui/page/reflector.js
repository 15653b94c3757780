// The page's pkg/client/cache: a copy of the objects of a kind follows the server by list and watch.

import { Refused, request, watch } from "./api.js";

// Objects a request: the first are soon seen, and each further request costs a way to the server and a drawing.
const firstPage = 500;
const laterPage = 2500;
const longestPause = 4000; // milliseconds

/**
 * Copy has what the page shows of the objects of a kind, by namespace and name, and the keys of those that
 * have changed since it was last asked.
 */
export class Copy {
  constructor(path, reduce, changed) {
    this.path = path;
    this.reduce = reduce; // an object to what is shown of it
    this.changed = changed; // is told that something has changed
    this.objects = new Map();
    this.dirty = new Set();
    this.ended = false; // it is not followed any more
  }

  set(object) {
    const key = keyOf(object);
    this.objects.set(key, this.reduce(object));
    this.mark(key);
    return key;
  }

  delete(key) {
    if (this.objects.delete(key)) this.mark(key);
  }

  mark(key) {
    this.dirty.add(key);
    this.changed();
  }

  /** take returns the keys of what has changed since the last call. */
  take() {
    const keys = this.dirty;
    this.dirty = new Set();
    return keys;
  }
}

/** Newest is a Copy of the newest objects only, at least so many: what is reduced has a time, at. */
export class Newest extends Copy {
  constructor(path, reduce, changed, most) {
    super(path, reduce, changed);
    this.most = most;
  }

  set(object) {
    const key = keyOf(object);
    if (this.objects.size >= this.most && this.reduce(object).at < this.oldest) return key;
    super.set(object);
    if (this.objects.size > 2 * this.most) {
      const oldestFirst = [...this.objects].sort(([, a], [, b]) => a.at - b.at);
      for (const [old] of oldestFirst.slice(0, this.most)) this.delete(old);
      this.oldest = oldestFirst[this.most][1].at; // what is older would not stay
    }
    return key;
  }
}

export const keyOf = ({ metadata }) => `${metadata.namespace || ""}/${metadata.name}`;

/**
 * reflect keeps a copy as the server has it, until it has ended. After an error, the end of a watch, or of the
 * server, it lists again. It tells "" when the copy is complete, and why when it may be stale; an error
 * that a token may help against waits for one.
 */
export async function reflect(copy, told, nextToken) {
  for (let pause = 0; !copy.ended; ) {
    try {
      const version = await list(copy);
      told("");
      pause = 0;
      await watch(copy.path, version, (event) => {
        if (event.type === "DELETED") copy.delete(keyOf(event.object));
        else copy.set(event.object);
      });
      told("connecting again");
    } catch (error) {
      told(error instanceof Refused ? error.message : "connecting again", error.status);
      if (error.status === 401 || error.status === 403) await Promise.race([nextToken(), sleep(longestPause)]);
    }
    pause = Math.min(pause * 2 || 100, longestPause);
    await sleep(pause * (0.5 + Math.random())); // not all pages at once
  }
  told("");
}

/** list replaces what a copy has, and returns the version of the list. */
async function list(copy) {
  const gone = new Set(copy.objects.keys());
  const ask = (next) => request("GET", `${copy.path}?${new URLSearchParams({ limit: next ? laterPage : firstPage, ...(next && { continue: next }) })}`);
  for (let asked = ask(""); ; ) {
    const { items, metadata } = await asked;
    if (metadata.continue) asked = ask(metadata.continue); // the server works on it meanwhile
    for (const object of items) gone.delete(copy.set(object));
    if (metadata.continue) continue;
    for (const key of gone) copy.delete(key);
    return metadata.resourceVersion;
  }
}

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
