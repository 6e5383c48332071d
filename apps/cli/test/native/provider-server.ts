import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Readonly<Record<string, unknown>>;

/** A request that the server took, and what its model could read: its text, and what its compactions stand for. */
export interface Taken {
  readonly path: string;
  readonly body: Json;
  readonly readable: string;
}

/** What becomes of the next requests. */
export interface Faults {
  /** HTTP status of compactions. */
  compaction?: number | 'cut off';
  /** HTTP status of answers. */
  answers?: number;
  /** Bytes of an item. */
  size?: number;
  /** By model, the tokens that a request may have. */
  windows?: Readonly<Record<string, number>>;
  /** The answer to whoever is asked for a record of the conversation. */
  record?: string;
  /** The tool that OpenAI's model calls when it is asked the question. */
  calls?: { readonly name: string; readonly input: Json };
}

export interface ProviderServer {
  readonly url: string;
  readonly faults: Faults;
  readonly taken: readonly Taken[];
  /** Requests that break the protocol. */
  readonly refused: readonly string[];
  compactions: number;
  /** Items that were given out before are refused from now on, as after a change of the key. */
  rotateKey(): void;
  close(): Promise<void>;
}

/**
 * OpenAI's Responses API and Anthropic's Messages API as far as compaction and tools go, after their published types. It
 * refuses what they refuse: unknown fields of a compaction, items that are not as they were given out, calls without
 * results, an Anthropic block that is not the first.
 */
export async function providerServer(): Promise<ProviderServer> {
  const taken: Taken[] = [];
  const refused: string[] = [];
  const given = new Map<string, { readonly json: string; readonly stands: string }>();
  const faults: Faults = {};
  const state = { compactions: 0 };

  const refuse = (response: ServerResponse, status: number, code: string, message: string) => {
    const error = { message, type: 'invalid_request_error', code, details: { error_code: code } };
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after-ms': '1' });
    response.end(JSON.stringify({ type: 'error', error }));
  };
  /** Refuses what does not fit into the window of its model, in the provider's words. */
  const overflows = ({ model }: Json, readable: string, response: ServerResponse): boolean => {
    const most = faults.windows?.[String(model)] ?? Number.POSITIVE_INFINITY;
    if (sizeOf(readable) <= most) return false;
    const message = `prompt is too long: ${sizeOf(readable)} tokens > ${most} maximum`;
    refuse(response, 400, 'context_length_exceeded', message);
    return true;
  };
  const seal = (text: string) => {
    const key = createHash('sha256').update(`${text}${randomUUID()}`).digest('base64');
    return key.padEnd(faults.size ?? 400, 'gAAAAAB_x9+/');
  };

  async function openai(path: string, body: Json, response: ServerResponse): Promise<void> {
    const compacts = path.endsWith('/compact');
    const allowed = [
      'model',
      'input',
      'instructions',
      'prompt_cache_key',
      'prompt_cache_retention',
      'service_tier',
    ];
    const unknown = compacts ? Object.keys(body).filter((key) => !allowed.includes(key)) : [];
    const items = body.input as readonly Json[];
    const problem = unknown.length > 0 ? `unknown fields ${unknown.join()}` : problemOfItems(items);
    if (problem) {
      refused.push(problem);
      return refuse(response, 400, 'invalid_request', problem);
    }
    let readable = JSON.stringify(items.filter(({ type }) => type !== 'compaction'));
    for (const item of items.filter(({ type }) => type === 'compaction')) {
      const known = given.get(String(item.encrypted_content));
      if (known?.json !== JSON.stringify(item)) {
        if (known) refused.push('an item was altered');
        return refuse(
          response,
          400,
          'invalid_encrypted_content',
          'The encrypted content could not be verified.',
        );
      }
      readable += `${STANDS}${known.stands}`;
    }
    const fault = compacts ? faults.compaction : faults.answers;
    if (typeof fault === 'number') return refuse(response, fault, `status_${fault}`, 'not now');
    taken.push({ path, body, readable });
    if (overflows(body, readable, response)) return;
    const usage = {
      input_tokens: sizeOf(readable),
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: compacts ? 400 : 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    };
    const base = { id: `resp_${taken.length}`, created_at: 1, usage };
    if (!compacts) {
      const content = [
        { type: 'output_text', text: answerTo(items.at(-1), taken.length, faults.record), annotations: [] },
      ];
      const { calls } = faults;
      const said = {
        id: `msg_${taken.length}`,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content,
      };
      const called = {
        id: `fc_${taken.length}`,
        type: 'function_call',
        call_id: `call_${taken.length}`,
        name: calls?.name,
        arguments: JSON.stringify(calls?.input),
        status: 'completed',
      };
      const output = [calls && JSON.stringify(items.at(-1)).includes(`"${QUESTION}"`) ? called : said];
      const answer = { ...base, object: 'response', model: body.model, status: 'completed', error: null };
      const item = output[0] as Json;
      const at = { item_id: item.id, output_index: 0, content_index: 0 };
      return send(response, body, { ...answer, incomplete_details: null, output }, [
        { type: 'response.created', response: { ...answer, status: 'in_progress' } },
        {
          type: 'response.output_item.added',
          output_index: 0,
          item: { ...item, ...(item === said ? { content: [] } : { arguments: '' }) },
        },
        ...(item === said ? [{ type: 'response.output_text.delta', ...at, delta: content[0]?.text }] : []),
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: { ...answer, incomplete_details: null, output } },
      ]);
    }
    state.compactions++;
    const sealed = seal(readable);
    const item = {
      id: `cmp_${taken.length}`,
      type: 'compaction',
      encrypted_content: sealed,
      created_by: null,
    };
    given.set(sealed, { json: JSON.stringify(item), stands: readable });
    const users = items.filter(({ role }) => role === 'user');
    json(response, { ...base, object: 'response.compaction', output: [...users, item] });
  }

  async function anthropic(path: string, body: Json, request: IncomingMessage, response: ServerResponse) {
    const messages = body.messages as readonly { readonly role: string; readonly content: readonly Json[] }[];
    const compacts = body.compaction !== undefined;
    const blocks = messages.flatMap(({ content }) => content);
    const compactions = blocks.filter(({ type }) => type === 'compaction');
    const [block] = compactions;
    const beta = String(request.headers['anthropic-beta']).includes('compact-2026-09-04');
    if ((compacts || block) && !beta) refused.push('no beta header');
    if (compactions.length > 1) return refuse(response, 400, 'compaction_block_ambiguous', 'more than one');
    if (block && blocks[0] !== block) refused.push('the block is not the first');
    let readable = JSON.stringify(blocks.filter(({ type }) => type !== 'compaction'));
    if (block) {
      const known = given.get(String(block.signature));
      if (known?.json !== JSON.stringify(block)) {
        if (known) refused.push('a block was altered');
        return refuse(response, 400, 'compaction_signature_invalid', 'The signature does not verify.');
      }
      readable += `${STANDS}${known.stands}`;
    }
    const fault = compacts ? faults.compaction : faults.answers;
    if (typeof fault === 'number') return refuse(response, fault, `status_${fault}`, 'not now');
    taken.push({ path, body, readable });
    if (overflows(body, readable, response)) return;
    const usage = { input_tokens: sizeOf(readable), output_tokens: compacts ? 400 : 5 };
    const base = {
      id: `msg_${taken.length}`,
      type: 'message',
      role: 'assistant',
      model: body.model,
      usage,
      stop_sequence: null,
    };
    if (!compacts) {
      const content = [{ type: 'text', text: answerTo(messages.at(-1), taken.length, faults.record) }];
      return send(response, body, { ...base, content, stop_reason: 'end_turn' }, [
        { type: 'message_start', message: { ...base, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: content[0]?.text } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
        { type: 'message_stop' },
      ]);
    }
    state.compactions++;
    const signature = seal(readable);
    const made = {
      type: 'compaction',
      content: 'A summary that only its author may alter.',
      encrypted_content: 'RXhhY3RseQ==',
      signature,
      tool_changes: [],
    };
    given.set(signature, { json: JSON.stringify(made), stands: readable });
    json(response, { ...base, content: [made], stop_reason: 'compaction' });
  }

  function json(response: ServerResponse, value: unknown): void {
    const text = JSON.stringify(value);
    const cut = faults.compaction === 'cut off' && text.includes('compaction');
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    if (!cut) response.end(text);
    else response.write(text.slice(0, text.length / 2), () => response.destroy());
  }

  function send(response: ServerResponse, { stream }: Json, answer: Json, events: readonly Json[]): void {
    if (stream !== true) {
      json(response, answer);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  }

  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text) as Json;
    const path = request.url ?? '';
    await (path.includes('/messages')
      ? anthropic(path, body, request, response)
      : openai(path, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    faults,
    taken,
    refused,
    rotateKey: () => given.clear(),
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  });
}

/** What a user says last. Who else is asked anything writes a record. */
export const QUESTION = 'And what now?';

/** The one thing that the model finds out, and nobody else says. */
export const FINDING = 'The part lies in shelf 38-B, delivered 3 May.';

const STANDS = '<what a compaction stands for>';

/** Tokens of what was sent; a compaction has 400. */
function sizeOf(readable: string): number {
  const [sent = '', ...compactions] = readable.split(STANDS);
  return Math.ceil(sent.length / 4) + Math.min(1, compactions.length) * 400;
}

function answerTo(message: unknown, count: number, record: string | undefined): string {
  if (record !== undefined && !JSON.stringify(message).includes(`"${QUESTION}"`)) return record;
  return JSON.stringify(message).includes('Find the shelf')
    ? FINDING
    : `Done ${count}. ${'I looked at every step of it with the usual care. '.repeat(50)}`;
}

/** Calls and results come in pairs, in their order. */
function problemOfItems(items: readonly Json[]): string | undefined {
  const open = new Set<unknown>();
  for (const { type = 'message', role, call_id: id, encrypted_content: sealed } of items) {
    if (type === 'function_call') open.add(id);
    else if (type === 'function_call_output') {
      if (!open.delete(id)) return `no call ${String(id)}`;
    } else if (type === 'compaction') {
      if (typeof sealed !== 'string') return 'a compaction without content';
    } else if (type !== 'message' || typeof role !== 'string') return `unknown item ${String(type)}`;
  }
  return open.size > 0 ? `no output for ${[...open].join()}` : undefined;
}
