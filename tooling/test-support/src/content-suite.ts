import {
  type AgentState,
  assistantMessage,
  defineTool,
  InMemorySession,
  InvalidInputError,
  type Message,
  type Model,
  RuntimeContext,
  type SessionLog,
  type SessionStore,
  type Tool,
  toolResultMessage,
  userMessage,
} from '@x/core';
import type { FileSource } from '@x/core/messages';
import { describe, expect, it } from 'vitest';
import { badContents } from '../../../packages/testkit/src/strict/bad-contents.js';
import type { StrictAnswer, WireFormat } from '../../../packages/testkit/src/strict/formats.js';
import { strictServer } from '../../../packages/testkit/src/strict/strict-server.js';
import { type Bad, badTools } from './bad-tools.js';

/** The methods of an agent that the suite calls. `HarnessAgent` of `@x/harness` has them. */
export interface ContentAgent {
  call(input: string | readonly Message[], context: RuntimeContext): Promise<{ readonly text: string }>;
  stream(
    input: string | readonly Message[],
    context: RuntimeContext,
  ): { readonly reply: Promise<{ readonly text: string }> };
  updateState(context: RuntimeContext, change: (state: AgentState) => void): Promise<AgentState>;
  log(context: RuntimeContext): SessionLog;
  close(): Promise<void>;
}

/** The parts of an agent. */
export interface ContentParts {
  readonly model: Model;
  readonly tools: readonly Tool[];
  readonly session: SessionStore;
  /** A client of an MCP server, called `far`, with a tool `look`. */
  readonly mcp: { listTools(): Promise<unknown>; callTool(): Promise<unknown> };
}

export interface ContentSuiteOptions {
  readonly name: string;
  /** Opens a model of each protocol at an address. */
  readonly open: Readonly<Record<WireFormat, (url: string) => Model>>;
  build(parts: ContentParts): Promise<ContentAgent> | ContentAgent;
}

const context = RuntimeContext.of({ sessionId: 's' });
/** The beginnings of images in base64. */
const [PNG, JPEG] = ['iVBOR', '/9j/'];
const described = { name: 'look', description: 'Looks', inputSchema: { type: 'object' } };
const look = { id: 'call_1', name: 'look', input: {} };

interface Way {
  /** Returns the answer of the model; `undefined` if the content cannot enter the session in this way. */
  readonly answer?: (bad: Bad, format: WireFormat) => StrictAnswer | undefined;
  /** Brings the content into the session. Default: by a message of the user. */
  readonly bring?: (agent: ContentAgent, bad: Bad) => Promise<unknown>;
}

/** Ways by which content enters a session. */
const WAYS: Readonly<Record<string, Way>> = {
  'a caller': { bring: (agent, bad) => agent.call(spoken(bad), context) },
  'the model': { answer: answerOf },
  'a tool': { answer: callOf('look') },
  'an MCP server': { answer: callOf('mcp__far__look') },
  'an import': {
    bring: (agent, bad) =>
      agent.updateState(context, (state) => void state.contextMutable().push(...spoken(bad))),
  },
};

/** Returns the content as an answer of a model. Only the protocol of Google supports files in answers. */
function answerOf({ blocks = [], calls }: Bad, format: WireFormat): StrictAnswer | undefined {
  if (calls !== undefined) return { calls };
  const files = blocks.flatMap((block) => (block.type === 'file' ? [block] : []));
  const held = files.flatMap(({ mediaType, source }) =>
    source.type === 'base64' && source.data !== '' ? [{ mimeType: mediaType, data: source.data }] : [],
  );
  if (held.length < files.length || (files.length > 0 && format !== 'google')) return undefined;
  return { text: blocks.map((block) => (block.type === 'text' ? block.text : '')).join(''), files: held };
}

function callOf(name: string): NonNullable<Way['answer']> {
  return ({ blocks, tool }) => (blocks || tool ? { calls: [{ ...look, name }] } : undefined);
}

/** Returns a conversation with the content in every possible place. */
function spoken({ blocks, calls = [look] }: Bad): readonly Message[] {
  const own = blocks?.filter(({ type }) => type === 'file') ?? [];
  return [
    userMessage('Look at it.'),
    assistantMessage([...own, ...calls.map((call) => ({ type: 'tool_use' as const, ...call }))]),
    ...calls.map((call) => toolResultMessage(call, blocks ?? 'Seen.')),
    assistantMessage('I see.'),
    userMessage(blocks ?? 'Go on.'),
  ];
}

/**
 * Registers Vitest tests of each protocol and each way into a session, with bad content. The agent must answer the next plain message, and
 * the provider must accept the message after it. The log must contain the content, and the model must be informed about content that it
 * cannot see. By default, each kind of content takes each way over one protocol; with `X_FAULTS=all`, over every protocol.
 */
export function contentSuite({ name, open, build }: ContentSuiteOptions): void {
  const formats = Object.keys(open) as WireFormat[];
  const ways = Object.entries(WAYS).map(([from, way], index) => [from, way, index] as const);
  describe.each(formats)(`${name} over the protocol of %s`, (format) => {
    it.each(ways)(
      'answers the next message, whatever %s brings',
      async (_, way, wayIndex) => {
        const faults: Record<string, unknown> = {};
        for (const [index, bad] of [...badContents, ...badTools].entries()) {
          const turn = (index + wayIndex) % formats.length === formats.indexOf(format);
          if (process.env.X_FAULTS !== 'all' && !turn) continue;
          const fault = await faultOf(bad, format, way).catch((error: unknown) => String(error));
          if (fault !== undefined) faults[bad.name] = fault;
        }
        expect(faults).toEqual({});
      },
      300_000,
    );
  });

  async function faultOf(bad: Bad, format: WireFormat, { answer, bring }: Way) {
    const wanted = answer?.(bad, format);
    if (answer !== undefined && wanted === undefined) return undefined;
    const server = await strictServer(format);
    const agent = await build({
      model: open[format](server.url),
      tools: ownTools(bad),
      session: new InMemorySession(),
      mcp: clientOf(bad),
    });
    try {
      if (wanted !== undefined) server.answerNext(wanted);
      // It may cost its own turn.
      const turn = bring?.(agent, bad) ?? agent.stream('Go on.', context).reply;
      const isLost = await turn.then(
        (reply) => (reply as { readonly stopReason?: unknown }).stopReason === 'truncated',
        (error: unknown) => (error as { code?: unknown }).code === 'invalid_input',
      );
      const next = await agent.call('Hello?', context);
      const refusals = server.refused.length;
      const after = await agent.stream('And now?', context).reply;
      if (next.text !== 'ok' || after.text !== 'ok') return [next.text, after.text, server.refused];
      if (server.refused.length > refusals) return `every request is rejected: ${server.refused.at(-1)}`;
      if (isLost) return undefined;
      const sent = JSON.stringify(server.taken.at(-1));
      const log = await logOf(agent);
      for (const block of bad.blocks ?? []) {
        const lost =
          block.type === 'file' ? lostOf(block.source, sent, log) : lostText(block.text, sent, log);
        if (lost !== undefined) return lost;
      }
      return undefined;
    } finally {
      await agent.close();
      await server.close();
    }
  }
}

/** Returns a tool that returns the content. Returns no tool if the agent would reject its schema. */
function ownTools({ blocks = [], tool }: Bad): readonly Tool[] {
  const { inputSchema, ...rest } = { ...described, ...tool };
  // The agent itself rejects schemas that do not describe an object.
  if (inputSchema.type !== 'object') return [];
  try {
    return [defineTool({ ...rest, input: inputSchema, readOnly: true, execute: () => [...blocks] })];
  } catch (error) {
    if (InvalidInputError.isInstance(error)) return [];
    throw error;
  }
}

/** Returns a problem if the log or the model has lost a text. */
function lostText(text: string, sent: string, log: string): string | undefined {
  const isIn = (where: string) =>
    [text, text.toWellFormed()].some((form) =>
      where.includes(JSON.stringify(form.slice(0, 20).trim()).slice(1, -1)),
    );
  if (!isIn(log)) return 'the log has lost the text';
  return isIn(sent) || sent.includes('Set aside, because') ? undefined : 'the model has lost the text';
}

/** Returns a problem if the log or the model has lost a file. */
function lostOf(source: FileSource, sent: string, log: string): string | undefined {
  const isHeld = source.type === 'base64' && source.data !== '';
  const given = source.type === 'base64' ? source.data : 'url' in source ? source.url : '';
  const data = source.type === 'base64' ? given.replace(/^data:[^,]*,/, '') : given;
  const isIn = (text: string) =>
    [data, data.replace(/\s/g, '')].some((known) =>
      text.includes(JSON.stringify(known.slice(0, 20)).slice(1, -1)),
    );
  if (isHeld && !isIn(log) && !log.includes('was left out')) return 'the log has lost it';
  const isTold = /cannot be shown to this model|Set aside, because|was left out|resource_link/.test(sent);
  const isText = /Pear,2|price|café/.test(sent);
  const isShown = [PNG, JPEG].some((begin) => sent.includes(begin));
  return isTold || isText || isShown || (data !== '' && isIn(sent))
    ? undefined
    : 'the model is not informed about it';
}

async function logOf(agent: ContentAgent): Promise<string> {
  const messages: Message[] = [];
  for await (const message of agent.log(context).read()) messages.push(message);
  return JSON.stringify(messages);
}

/** Returns a client of an MCP server whose tool returns the content. */
function clientOf({ blocks = [], tool }: Bad): ContentParts['mcp'] {
  const content = blocks.map((block) => {
    if (block.type === 'text') return block;
    const { mediaType: mimeType, source } = block;
    const [kind] = mimeType.split('/');
    if (source.type === 'base64' && (kind === 'image' || kind === 'audio'))
      return { type: kind, mimeType, data: source.data };
    const uri = source.type === 'url' ? source.url : `file:///${block.filename ?? 'file'}`;
    if (source.type !== 'base64') return { type: 'resource_link', uri, name: 'file', mimeType };
    return { type: 'resource', resource: { uri, mimeType, blob: source.data } };
  });
  return {
    listTools: async () => ({
      tools: [{ ...described, ...tool }],
    }),
    callTool: async () => ({ content }),
  };
}
