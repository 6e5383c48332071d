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
  /** The server is another one, which knows no compactions and speaks of them in words of its own. */
  foreign?: boolean;
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
  /** Compactions that were asked for, whatever came of it. */
  readonly asked: number;
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
  const state = { compactions: 0, asked: 0 };

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
    const items = body.input as readonly Json[];
    const triggers = items.at(-1)?.type === 'compaction_trigger';
    const isEndpoint = path.endsWith('/compact');
    const compacts = isEndpoint || triggers;
    const management = body.context_management as readonly Json[] | undefined;
    const allowed = [
      'model',
      'input',
      'instructions',
      'prompt_cache_key',
      'prompt_cache_retention',
      'service_tier',
    ];
    const unknown = isEndpoint ? Object.keys(body).filter((key) => !allowed.includes(key)) : [];
    const problem =
      unknown.length > 0
        ? `unknown fields ${unknown.join()}`
        : (problemOfItems(triggers ? items.slice(0, -1) : items) ?? problemOfManagement(management));
    if (problem) {
      refused.push(problem);
      return refuse(response, 400, 'invalid_request', problem);
    }
    let readable = JSON.stringify(items.filter(({ type }) => type !== 'compaction'));
    if (faults.foreign && items.some(({ type }) => type === 'compaction')) {
      const message = "Invalid value: 'compaction'. Supported values are: 'message'.";
      return refuse(response, 400, 'invalid_value', message);
    }
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
    if (compacts) state.asked++;
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
    const compacted = () => {
      state.compactions++;
      const sealed = seal(readable);
      const item = {
        id: `cmp_${taken.length}`,
        type: 'compaction',
        encrypted_content: sealed,
        created_by: null,
      };
      given.set(sealed, { json: JSON.stringify(item), stands: readable });
      return item;
    };
    if (!isEndpoint) {
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
      const from = management?.[0]?.compact_threshold;
      // What is before a compaction of its own is not counted.
      const rest = items.slice(items.findLastIndex(({ type }) => type === 'compaction') + 1);
      const isDue = typeof from === 'number' && sizeOf(JSON.stringify(rest)) > from;
      const answered = calls && JSON.stringify(items.at(-1)).includes(`"${QUESTION}"`) ? called : said;
      const output: readonly Json[] = triggers ? [compacted()] : [...(isDue ? [compacted()] : []), answered];
      const answer = { ...base, object: 'response', model: body.model, status: 'completed', error: null };
      const events = output.flatMap((item, output_index): readonly Json[] => {
        const at = { item_id: item.id, output_index, content_index: 0 };
        const begun = item === said ? { content: [] } : item === called ? { arguments: '' } : {};
        return [
          { type: 'response.output_item.added', output_index, item: { ...item, ...begun } },
          ...(item === said ? [{ type: 'response.output_text.delta', ...at, delta: content[0]?.text }] : []),
          { type: 'response.output_item.done', output_index, item },
        ];
      });
      return send(response, body, { ...answer, incomplete_details: null, output }, [
        { type: 'response.created', response: { ...answer, status: 'in_progress' } },
        ...events,
        { type: 'response.completed', response: { ...answer, incomplete_details: null, output } },
      ]);
    }
    const users = items.filter(({ role }) => role === 'user');
    json(response, { ...base, object: 'response.compaction', output: [...users, compacted()] });
  }

  async function anthropic(path: string, body: Json, request: IncomingMessage, response: ServerResponse) {
    const messages = body.messages as readonly { readonly role: string; readonly content: readonly Json[] }[];
    const compacts = body.compaction !== undefined;
    const blocks = messages.flatMap(({ content }) => content);
    // Those of the edit have no signature: they stay in the answers in which they were given.
    const own = blocks.filter(({ type, signature }) => type === 'compaction' && signature === undefined);
    const compactions = blocks.filter((it) => it.type === 'compaction' && !own.includes(it));
    const [block] = compactions;
    const betas = String(request.headers['anthropic-beta']);
    if ((compacts || block) && !betas.includes('compact-2026-09-04')) refused.push('no beta header');
    const edits = editsIn(body);
    const compacting = edits.find(({ type }) => type === 'compact_20260112');
    const problem =
      (edits.length > 0 && compacts ? 'edits beside a compaction' : undefined) ??
      (edits.length > 0 && !betas.includes('context-management-2025-06-27')
        ? 'no beta of edits'
        : undefined) ??
      (compacting && !betas.includes('compact-2026-01-12') ? 'no beta of its edit' : undefined) ??
      (own.some((it) => given.get(String(it.content))?.json !== JSON.stringify(it))
        ? 'altered'
        : undefined) ??
      edits.map(problemOfEdit).find(Boolean);
    if (problem) {
      refused.push(problem);
      return refuse(response, 400, 'invalid_request_error', problem);
    }
    if (faults.foreign && block) {
      const words = "messages.0.content.0: Input tag 'compaction' does not match any of the expected tags";
      return refuse(response, 400, 'invalid_request_error', words);
    }
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
    if (compacts) state.asked++;
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
      const from = (compacting?.trigger as Json | undefined)?.value;
      const rest = blocks.slice(blocks.findLastIndex(({ type }) => type === 'compaction') + 1);
      const isDue = typeof from === 'number' && sizeOf(JSON.stringify(rest)) > from;
      const summary = { type: 'compaction', content: `The server's own summary ${taken.length}.` };
      if (isDue) {
        state.compactions++;
        given.set(summary.content, { json: JSON.stringify(summary), stands: readable });
      }
      const said = { type: 'text', text: answerTo(messages.at(-1), taken.length, faults.record) };
      const content = isDue ? [summary, said] : [said];
      const cleared = { type: 'clear_tool_uses_20250919', cleared_tool_uses: 2, cleared_input_tokens: 900 };
      const context_management = {
        applied_edits: edits.map(({ type }) => (type === cleared.type ? cleared : { type })),
      };
      const managed = edits.length > 0 ? { context_management } : {};
      return send(response, body, { ...base, content, stop_reason: 'end_turn', ...managed }, [
        { type: 'message_start', message: { ...base, content: [], stop_reason: null } },
        ...content.flatMap((it, index): readonly Json[] => {
          const isText = 'text' in it;
          const delta = isText ? { text: it.text } : { content: it.content };
          return [
            {
              type: 'content_block_start',
              index,
              content_block: { ...it, ...(isText ? { text: '' } : { content: null }) },
            },
            {
              type: 'content_block_delta',
              index,
              delta: { type: isText ? 'text_delta' : 'compaction_delta', ...delta },
            },
            { type: 'content_block_stop', index },
          ];
        }),
        { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage, ...managed },
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

function problemOfManagement(management: readonly Json[] | undefined): string | undefined {
  const isRight = (management ?? []).every(
    ({ type, compact_threshold: from, ...rest }) =>
      type === 'compaction' && Number(from) >= 1_000 && Object.keys(rest).length === 0,
  );
  return isRight ? undefined : 'context_management';
}

function editsIn({ context_management: management }: Json): readonly Json[] {
  return ((management as Json | undefined)?.edits ?? []) as readonly Json[];
}

/** What each edit may say besides its type. */
const EDITS: Readonly<Record<string, readonly string[]>> = {
  clear_tool_uses_20250919: ['trigger', 'keep', 'clear_at_least', 'clear_tool_inputs', 'exclude_tools'],
  clear_thinking_20251015: ['keep'],
  compact_20260112: ['trigger', 'pause_after_compaction', 'instructions'],
};

function problemOfEdit({ type, ...rest }: Json): string | undefined {
  const known = EDITS[String(type)];
  return known && Object.keys(rest).every((key) => known.includes(key)) ? undefined : `edit ${String(type)}`;
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
