// Objects as YAML, for people to read.

const plain = /^(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z_/][\w./-]*(?: [\w./-]+)*$/i;

// A text in quotes as in JSON is also one in YAML.
const scalar = (value) => (typeof value === "string" && plain.test(value) ? value : JSON.stringify(value));

const isScalar = (value) => value === null || typeof value !== "object" || !Object.keys(value).length;

function lines(value) {
  if (isScalar(value)) return [scalar(value)];
  if (Array.isArray(value)) return value.flatMap((item) => lines(item).map((line, at) => (at ? "  " : "- ") + line));
  return Object.entries(value).flatMap(([key, item]) => {
    if (isScalar(item)) return `${scalar(key)}: ${scalar(item)}`;
    return [`${scalar(key)}:`, ...lines(item).map((line) => (Array.isArray(item) ? line : `  ${line}`))];
  });
}

/** yaml writes an object, without what the server notes of its managers. */
export function yaml({ metadata: { managedFields, ...metadata }, ...object }) {
  const { apiVersion, kind, ...rest } = object;
  return lines({ apiVersion, kind, metadata, ...rest }).join("\n");
}
