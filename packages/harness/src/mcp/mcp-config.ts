import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { InvalidInputError } from '@x/core';
import { callable, having, isObject, namesSecret, parseWith, rememberSecrets } from '@x/core/internal';
import * as z from 'zod';
import { substituteEnvironment } from '../config/substitute-environment.js';
import type { McpClient, McpElicit } from './mcp-client.js';

const strings = z.record(z.string(), z.string());

const serverSchema = z.strictObject({
  /** A program to start. It communicates over standard input and output. */
  command: z.string().min(1).optional(),
  args: z.array(z.string()).optional(),
  /** Environment variables for the program, in addition to a minimal environment. */
  env: strings.optional(),
  cwd: z.string().min(1).optional(),
  /** URL of a server to connect to over streamable HTTP. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  headers: strings.optional(),
  /**
   * Authorizes requests to `url` with OAuth. Implements the SDK's interface and stores the tokens; the SDK handles
   * discovery, registration, PKCE and refresh.
   */
  authProvider: z.optional(having<OAuthClientProvider>('tokens', 'an OAuthClientProvider of the MCP SDK')),
  /**
   * Answers questions that the server asks the user during a call. Without it, the client does not offer elicitation to
   * servers.
   */
  elicit: z.optional(callable<McpElicit>()),
  /** A connected client. The caller remains its owner: it is never closed, and its tools are listed once. */
  client: z.custom<McpClient>(isClient, 'must have listTools() and callTool()').optional(),
  /** Patterns for the names of tools to offer, as the server names them. Default: all. */
  tools: z.array(z.string().min(1)).optional(),
  /**
   * Trusts the server's tool annotations (`readOnlyHint`), including later changes. Otherwise only hints that make
   * rules stricter count, and a tool that changed since this session used it requires approval.
   */
  trusted: z.boolean().default(false),
  /** Makes `mcp()` fail if the server cannot be reached. */
  required: z.boolean().default(true),
});

export const mcpConfigSchema = z.strictObject({
  servers: z.record(
    // The end of the server's name in `mcp__server__tool` must be unambiguous, or tools of two servers could have the
    // same name.
    z
      .string()
      .regex(
        /^(?!.*__)[a-zA-Z0-9_-]{0,31}[a-zA-Z0-9-]$/,
        'must be letters, digits, - and single _, 32 at most, with no _ at the end',
      ),
    serverSchema,
  ),
  /** Timeout in milliseconds for connecting to a server and listing its tools. 0 means no limit. */
  connectTimeoutMs: z.int().min(0).default(20_000),
  /** Timeout of a tool call in milliseconds, counted from the call or its last progress. 0 means no limit. */
  callTimeoutMs: z.int().min(0).default(60_000),
  /** Timeout of a tool call in milliseconds, regardless of progress. 0 means no limit. */
  maxCallMs: z.int().min(0).default(600_000),
  /** Maximum number of text characters of one result. The rest is left out, with a note for the model. */
  maxResultChars: z.int().min(1).default(200_000),
  /** Maximum total size in bytes of the files in a result. Files beyond it are left out. */
  maxFileBytes: z.int().min(0).default(3_000_000),
  /** Maximum number of characters of one server's tool schemas and descriptions. Tools beyond it are left out. */
  maxSchemaChars: z.int().min(1).default(300_000),
  /** Maximum number of tools of one server. Tools beyond it are left out. */
  maxTools: z.int().min(1).default(200),
  /** Delay in milliseconds before reconnecting to a lost server. Doubles with each failure up to `maxRetryDelayMs`. */
  retryDelayMs: z.int().min(0).default(500),
  maxRetryDelayMs: z.int().min(0).default(30_000),
});

/** The configuration of `mcp()`: the servers by name, and limits. */
export type McpConfig = z.input<typeof mcpConfigSchema>;
export type McpSettings = z.output<typeof mcpConfigSchema>;
export type McpServerSettings = McpSettings['servers'][string];

/** Replaces references to environment variables, and creates the function that hides their values in messages. */
export function parseMcpConfig(
  config: McpConfig,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly settings: McpSettings; readonly redact: Redact } {
  const subject = 'mcp configuration';
  // Objects that only code can pass skip the substitution.
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
  if (elicit !== undefined && client !== undefined)
    refuse('.elicit', 'must be configured on the client itself');
}

function isClient(value: unknown): boolean {
  const client = value as Partial<McpClient> | null;
  return typeof client?.listTools === 'function' && typeof client.callTool === 'function';
}

/** Replaces secrets in a text that people or models read. */
export type Redact = (text: string) => string;

const NAMES = /\$\{([A-Za-z_][A-Za-z0-9_]*)/g;
/**
 * Minimum length of a hidden value. Shorter values may be ordinary words; hiding them would make messages unreadable
 * and protect nothing.
 */
const MIN_LENGTH = 5;

/** Returns the names of the environment variables that a configuration refers to. */
function namesIn(config: unknown): readonly string[] {
  return [...new Set([...JSON.stringify(config).matchAll(NAMES)].map(([, name = '']) => name))];
}

/** Returns a function that hides the values of these environment variables, both plain and URL-encoded, longest first. */
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

/** Returns a value and its encoded forms in each part of a URL. */
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
