import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { InvalidInputError } from '@x/core';
import { isObject, namesSecret, parseWith, rememberSecrets } from '@x/core/internal';
import * as z from 'zod';
import { substituteEnvironment } from '../config/substitute-environment.js';
import type { McpClient, McpElicit } from './mcp-client.js';

const strings = z.record(z.string(), z.string());

const serverSchema = z.strictObject({
  /** A program to start, which is spoken to over its standard input and output. */
  command: z.string().min(1).optional(),
  args: z.array(z.string()).optional(),
  /** Variables for the program, beside a minimal environment. */
  env: strings.optional(),
  cwd: z.string().min(1).optional(),
  /** A server to connect to by streamable HTTP. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  headers: strings.optional(),
  /**
   * Authorizes requests to `url` by OAuth: the SDK's interface, which keeps tokens. Discovery, registration, PKCE and refresh are
   * the SDK's work.
   */
  authProvider: z
    .custom<OAuthClientProvider>(
      (value) => typeof (value as Partial<OAuthClientProvider> | null)?.tokens === 'function',
      'must be an OAuthClientProvider of the MCP SDK',
    )
    .optional(),
  /** Answers what the server asks the user in the middle of a call; without it, servers learn that nobody answers. */
  elicit: z.custom<McpElicit>((value) => typeof value === 'function', 'must be a function').optional(),
  /** A connected client. It stays the caller's: it is never closed, and its tools are listed once. */
  client: z.custom<McpClient>(isClient, 'must have listTools() and callTool()').optional(),
  /** Patterns of the tools to offer, by the server's own names. Default: all. */
  tools: z.array(z.string().min(1)).optional(),
  /**
   * Believes what the server says of its tools (`readOnlyHint`), now and after it changed them. Else only hints that make
   * rules stricter count, and a tool that became another since this session used it takes approval.
   */
  trusted: z.boolean().default(false),
  /** Lets `mcp()` fail when the server cannot be reached. */
  required: z.boolean().default(true),
});

export const mcpConfigSchema = z.strictObject({
  servers: z.record(
    // Of `mcp__server__tool` it must be plain where the server ends: another's tool would have the same name.
    z
      .string()
      .regex(
        /^(?!.*__)[a-zA-Z0-9_-]{0,31}[a-zA-Z0-9-]$/,
        'must be letters, digits, - and single _, 32 at most, with no _ at the end',
      ),
    serverSchema,
  ),
  /** Milliseconds that a server may take to begin; 0 for no limit. */
  connectTimeoutMs: z.int().min(0).default(20_000),
  /** Milliseconds that a tool may take, from the call or its last progress; 0 for no limit. */
  callTimeoutMs: z.int().min(0).default(60_000),
  /** Milliseconds that a tool may take in all, whatever progress it reports; 0 for no limit. */
  maxCallMs: z.int().min(0).default(600_000),
  /** Characters of text that one result may have; the rest is left out, and the model told so. */
  maxResultChars: z.int().min(1).default(200_000),
  /** Bytes of an image or another file in a result; larger ones are left out. */
  maxFileBytes: z.int().min(0).default(5_000_000),
  /** Bytes of all images and other files of a result; those beyond are left out. */
  maxResultBytes: z.int().min(0).default(20_000_000),
  /** Characters of the schemas and descriptions of one server's tools; tools beyond are left out. */
  maxSchemaChars: z.int().min(1).default(300_000),
  /** Tools that one server may have; those beyond are left out. */
  maxTools: z.int().min(1).default(200),
  /** Milliseconds until a server that went away is tried again; doubles up to `maxRetryDelayMs`. */
  retryDelayMs: z.int().min(0).default(500),
  maxRetryDelayMs: z.int().min(0).default(30_000),
});

export type McpConfig = z.input<typeof mcpConfigSchema>;
export type McpSettings = z.output<typeof mcpConfigSchema>;
export type McpServerSettings = McpSettings['servers'][string];

/** Replaces references to environment variables, and makes the function that hides their values in messages. */
export function parseMcpConfig(
  config: McpConfig,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly settings: McpSettings; readonly redact: Redact } {
  const subject = 'mcp configuration';
  // What only code can give is carried past the substitution.
  if (!isObject(config)) throw new InvalidInputError(subject, [{ path: '', message: 'must be an object' }]);
  const given = Object.entries(config.servers ?? {}).map(
    ([name, { client, authProvider, elicit, ...plain }]) =>
      [name, plain, { client, authProvider, elicit }] as const,
  );
  const plain = { ...config, servers: Object.fromEntries(given.map(([name, server]) => [name, server])) };
  const substituted = substituteEnvironment(plain, environment, subject) as typeof plain;
  const whole = given.map(([name, , objects]) => [name, { ...substituted.servers[name], ...objects }]);
  const settings = parseWith(
    mcpConfigSchema,
    { ...substituted, servers: Object.fromEntries(whole) },
    subject,
  );
  for (const [name, server] of Object.entries(settings.servers)) checkKind(name, server);
  const names = namesIn(plain);
  const variables = [
    ...names.map((name) => [name, environment[name] ?? ''] as const),
    ...Object.values(settings.servers).flatMap(({ env = {} }) => Object.entries(env)),
  ];
  rememberSecrets(variables.flatMap(([name, value]) => (namesSecret(name) ? value : [])));
  return { settings, redact: secretsIn(names, environment) };
}

function checkKind(name: string, { command, url, client, authProvider, elicit }: McpServerSettings): void {
  const refuse = (path: string, message: string) => {
    throw new InvalidInputError('mcp configuration', [{ path: `servers.${name}${path}`, message }]);
  };
  const given = [command, url, client].filter((kind) => kind !== undefined);
  if (given.length !== 1) refuse('', 'needs exactly one of command, url and client');
  if (authProvider !== undefined && url === undefined) refuse('.authProvider', 'needs a url');
  if (elicit !== undefined && client !== undefined) refuse('.elicit', 'is for the client itself to handle');
}

function isClient(value: unknown): boolean {
  const client = value as Partial<McpClient> | null;
  return typeof client?.listTools === 'function' && typeof client.callTool === 'function';
}

/** Hides secrets in a text for people or models. */
export type Redact = (text: string) => string;

const NAMES = /\$\{([A-Za-z_][A-Za-z0-9_]*)/g;
/** Shorter values are words: hiding them would make messages unreadable and protect nothing. */
const MIN_LENGTH = 5;

/** The names of environment variables to which a configuration refers. */
function namesIn(config: unknown): readonly string[] {
  return [...new Set([...JSON.stringify(config).matchAll(NAMES)].map(([, name = '']) => name))];
}

/** Hides the values of all environment variables that a configuration refers to, as they are and as URLs have them, the longest first. */
function secretsIn(
  names: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Redact {
  const secrets = names
    .map((name): readonly [string, string] => [name, environment[name] ?? ''])
    .filter(([, value]) => value.length >= MIN_LENGTH)
    .flatMap(([name, value]) => formsOf(value).map((form): readonly [string, string] => [name, form]))
    .sort(([, left], [, right]) => right.length - left.length);
  return (text) => secrets.reduce((hidden, [name, value]) => hidden.replaceAll(value, `\${${name}}`), text);
}

/** A value, and what becomes of it in each part of a URL. */
function formsOf(value: string): readonly string[] {
  const url = new URL('https://host');
  url.username = value;
  url.pathname = value;
  url.search = value;
  url.hash = value;
  const parts = [url.username, url.pathname.slice(1), url.search.slice(1), url.hash.slice(1)];
  const query = new URLSearchParams({ value }).toString().slice('value='.length);
  return [...new Set([value, query, ...parts])].filter(({ length }) => length >= MIN_LENGTH);
}
