import { isObject } from '@x/core/internal';

/** A JSON object of a request, with unknown fields. */
export type Json = Readonly<Record<string, unknown>>;

/** Throws an error like a provider's response with status 400. */
export function refuse(message: string): never {
  throw new Refusal(message, 400);
}

/** The response of a provider that rejects a request. */
export class Refusal extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Part of a text, or of an image's bytes, that the strict servers reject by their content policy. */
export const FORBIDDEN = 'FORBIDDEN-CONTENT';
/** Bytes of an image with a valid header that cannot be decoded. */
export const CORRUPT = 'CORRUPT-BYTES';
/** Address of a file that the strict servers cannot fetch. */
export const UNREACHABLE = 'https://unreachable.invalid/shot.png';

/** Returns a list of objects, or rejects the request. */
export function listOf(value: unknown, place: string): readonly Json[] {
  if (Array.isArray(value) && value.every(isObject)) return value;
  return refuse(`${place}: must be a list of objects`);
}

/** Rejects an invalid text: missing, blank, forbidden by policy, or a file encoded as text. */
export function checkText(value: unknown, place: string, mayBeBlank = false): void {
  if (typeof value !== 'string') refuse(`${place}: must be a text`);
  else if (!mayBeBlank && value.trim() === '') refuse(`${place}: text content must not be empty`);
  else if (value.includes(FORBIDDEN)) refuse(`${place}: flagged by the content policy`);
  else if (/[A-Za-z0-9+/]{2000}/.test(value.slice(0, 1_000_000))) refuse(`${place}: holds a file as text`);
}

/** Rejects half of a surrogate pair, as the JSON parsers of providers do. */
export function checkUnicode(value: unknown, place = 'body'): void {
  if (typeof value === 'string' && !value.isWellFormed()) refuse(`${place}: no low surrogate in string`);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, child] of Object.entries(value)) {
    checkUnicode(key, place);
    checkUnicode(child, `${place}.${key}`);
  }
}

const BEGINNINGS: Readonly<Record<string, RegExp>> = {
  'image/png': /^\x89PNG/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/gif': /^GIF8/,
  'image/webp': /^RIFF....WEBP/s,
  'application/pdf': /^%PDF-/,
};

/** Rejects a file that has the wrong type, is not base64, is empty, is too large, or does not match its media type. */
export function checkFile(
  file: { readonly mediaType: unknown; readonly data: unknown },
  place: string,
  { takes, most }: { readonly takes: RegExp; readonly most: number },
): void {
  const { mediaType, data } = file;
  if (typeof mediaType !== 'string' || !takes.test(mediaType))
    refuse(`${place}: unsupported media type ${mediaType}`);
  const isBase64 = typeof data === 'string' && data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data);
  if (!isBase64) refuse(`${place}: invalid base64 data`);
  if (data === '') refuse(`${place}: file is empty`);
  if (data.length > most) refuse(`${place}: file exceeds ${most} bytes`);
  const bytes = Buffer.from(data, 'base64').toString('latin1');
  if (BEGINNINGS[mediaType]?.test(bytes) === false) refuse(`${place}: the file is not ${mediaType}`);
  if (bytes.includes(CORRUPT)) refuse(`${place}: could not process the file`);
}

/** Rejects the address of a file that cannot be fetched. */
export function checkAddress(url: unknown, place: string): void {
  if (typeof url !== 'string' || !/^https?:/.test(url) || url === UNREACHABLE)
    refuse(`${place}: unable to download the file`);
}

/** Rejects too many, or too large pictures. */
export function checkPictures(pictures: readonly unknown[], place: string): void {
  const sides = pictures.flatMap((data) => {
    const header = Buffer.from(String(data).slice(0, 32), 'base64');
    return header.toString('latin1', 12, 16) === 'IHDR'
      ? [header.readUInt32BE(16), header.readUInt32BE(20)]
      : [];
  });
  if (pictures.length > 100) refuse(`${place}: too many images`);
  const most = pictures.length > 20 ? 2000 : 8000;
  if (sides.some((side) => side > most)) refuse(`${place}: an image dimension exceeds ${most} pixels`);
}

/** Rejects JSON of more levels than protocol buffers have. */
export function checkDepth(value: unknown, place: string, left = 100): void {
  if (left === 0) refuse(`${place}: too many levels of nesting`);
  if (typeof value !== 'object' || value === null) return;
  for (const child of Object.values(value)) checkDepth(child, place, left - 1);
}

/** Splits `data:<type>;base64,<data>` into media type and data. */
export function dataUrl(
  value: unknown,
  place: string,
): { readonly mediaType: unknown; readonly data: unknown } {
  const [, mediaType, data] =
    /^data:([^;,]*);base64,(.*)$/s.exec(String(value)) ?? refuse(`${place}: invalid URL`);
  return { mediaType, data };
}

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

/** Rejects tools without distinct, valid names, and calls `check` with the schema of each. */
export function checkTools(
  tools: readonly Json[],
  pattern: RegExp,
  check: (schema: unknown, place: string) => void,
  schemaOf: (tool: Json) => unknown,
): void {
  const names = new Set<unknown>();
  for (const tool of tools) {
    const { name } = tool;
    if (typeof name !== 'string' || !pattern.test(name))
      refuse(`tools: invalid name ${JSON.stringify(name)}`);
    if (names.has(name)) refuse(`tools: names must be unique, ${name} is not`);
    names.add(name);
    check(schemaOf(tool), `tools.${name}`);
  }
}

/** Rejects a tool's input schema that is not an object schema, or has alternatives at its top level. */
export function checkParameters(schema: unknown, place: string): void {
  const { type, properties, ...rest } = Object(schema) as Json;
  if (type !== 'object') refuse(`${place}: the schema must have the type "object"`);
  const found = ['anyOf', 'oneOf', 'allOf', 'enum', 'not'].find((keyword) => keyword in rest);
  if (found !== undefined) refuse(`${place}: ${found} is not supported at the top of a schema`);
  const odd = Object.keys(Object(properties)).find((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name));
  if (odd !== undefined) refuse(`${place}: property keys should match a pattern, ${odd} does not`);
  checkSchema(schema, place);
}

/** Rejects a JSON Schema with unknown types, unresolved references, or patterns that do not compile. */
export function checkSchema(schema: unknown, place: string, root = schema): void {
  if (!isObject(schema)) refuse(`${place}: must be a schema`);
  const { type, required = [], pattern, $ref, properties, items } = schema;
  const isKnown = (name: unknown) => TYPES.includes(name as string);
  if (type !== undefined && ![type].flat().every(isKnown))
    refuse(`${place}: invalid type ${JSON.stringify(type)}`);
  if (!Array.isArray(required)) refuse(`${place}: required must be a list`);
  if (new Set(required).size < required.length) refuse(`${place}: required has non-unique elements`);
  const missing = required.find((name) => !Object.hasOwn(Object(properties), name));
  if (missing !== undefined) refuse(`${place}: required: property is not defined: ${missing}`);
  if ([type].flat().includes('array') && !isObject(items)) refuse(`${place}: array schema missing items`);
  if (typeof $ref === 'string') {
    const found = $ref
      .split('/')
      .slice(1)
      .reduce<unknown>((value, key) => Object(value)[key], root);
    if (found === undefined) refuse(`${place}: unresolved $ref ${$ref}`);
  }
  try {
    if (pattern !== undefined) new RegExp(String(pattern));
  } catch {
    refuse(`${place}: invalid pattern`);
  }
  for (const [name, child] of Object.entries(properties ?? {})) checkSchema(child, `${place}.${name}`, root);
  for (const part of [schema.anyOf ?? []].flat()) checkSchema(part, `${place}.anyOf`, root);
  if (items !== undefined) checkSchema(items, `${place}.items`, root);
}

/** Rejects a schema with formats or values that Google does not know. */
export function checkGoogleSchema(schema: unknown, place: string): void {
  const { format, enum: values, type } = Object(schema) as Json;
  if (type === 'string' && format !== undefined && !['enum', 'date-time'].includes(String(format)))
    refuse(`${place}: only 'enum' and 'date-time' are supported for STRING type`);
  if (Array.isArray(values) && values.includes('')) refuse(`${place}: enum: cannot be empty`);
  for (const child of Object.values(Object(schema)))
    if (typeof child === 'object') checkGoogleSchema(child, place);
}

/** Checks the pairing of calls and results: each call has a unique id and one result, right after its answer. */
export class Calls {
  readonly #id: RegExp;
  readonly #name: RegExp;
  readonly #known = new Set<string>();
  #open = new Set<string>();

  constructor(id: RegExp, name: RegExp) {
    this.#id = id;
    this.#name = name;
  }

  call(id: unknown, name: unknown, input: unknown, place: string): void {
    if (typeof id !== 'string' || !this.#id.test(id)) refuse(`${place}: invalid id ${JSON.stringify(id)}`);
    if (this.#known.has(id)) refuse(`${place}: ids of tool calls must be unique, ${id} is not`);
    if (typeof name !== 'string' || !this.#name.test(name))
      refuse(`${place}: invalid name ${JSON.stringify(name)}`);
    if (!isObject(input)) refuse(`${place}: the input must be an object`);
    checkText(JSON.stringify(input), place);
    this.#known.add(id);
    this.#open.add(id);
  }

  result(id: unknown, place: string): void {
    if (!this.#open.delete(id as string))
      refuse(`${place}: a result without its call: ${JSON.stringify(id)}`);
  }

  /** Requires results for all open calls, because something other than a result follows. */
  settle(place: string): void {
    const [open] = this.#open;
    this.#open = new Set();
    if (open !== undefined) refuse(`${place}: no result was found for the call ${open}`);
  }
}
