import { randomUUID } from 'node:crypto';
import {
  type AgentApp,
  type AgentContext,
  agent as agentApp,
  type McpServer,
  methods,
  PROTOCOL_VERSION,
  type PromptResponse,
  RequestError,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { type PendingCall, RuntimeContext, toClientError, toClientEvent, userMessage } from '@x/core';
import { unlessAborted, type WordError, withoutOpenCalls } from '@x/core/internal';
import {
  type CallStream,
  type Decisions,
  formatRule,
  type HarnessAgent,
  pendingCalls,
  previewCall,
} from '@x/harness';
import { oneLine } from '@x/harness/view';
import {
  blocksOf,
  contentOf,
  planOf,
  replayOf,
  STOPPED,
  shownId,
  textContent,
  toolCall,
  undecided,
  updatesOf,
} from './updates.js';

/** Opens the agent that works in an editor's project, with the editor's MCP servers. */
type OpenInProject = (directory: string, servers: readonly McpServer[]) => Promise<HarnessAgent>;

interface Session {
  readonly agent: HarnessAgent;
  readonly directory: string;
  readonly context: RuntimeContext;
  /** The todos that were last sent to the editor, as JSON. */
  plan: string;
  /** Abort controllers of the running turns, for `session/cancel`. Turns continue during a `session/load`. */
  readonly turns: Set<AbortController>;
}

interface AcpOptions {
  /** The owner of the sessions. */
  readonly userId?: string | undefined;
  /** Receives each error. Its return value replaces the message for the editor. Default: see `toClientError`. */
  readonly onError?: WordError | undefined;
}

/**
 * Returns an agent for editors that implements version 1 of the Agent Client Protocol: new and loaded sessions, prompts, cancellation,
 * permissions, and todos as plans.
 *
 * @param info Name and version that editors show.
 */
export function acpAgent(
  open: OpenInProject,
  info: { readonly name: string; readonly version: string },
  { userId, onError }: AcpOptions = {},
): AgentApp {
  // Long because it has a handler for each request of the protocol.
  const sessions = new Map<string, Session>();

  async function openSession(
    sessionId: string,
    { cwd: directory, mcpServers }: { readonly cwd: string; readonly mcpServers: readonly McpServer[] },
  ): Promise<Session> {
    const agent = await open(directory, mcpServers);
    const context = RuntimeContext.of({ sessionId, userId });
    const turns = sessions.get(sessionId)?.turns ?? new Set();
    return { agent, directory, context, plan: '[]', turns };
  }

  function sessionOf(sessionId: string): Session {
    const session = sessions.get(sessionId);
    if (session === undefined) throw RequestError.sessionNotFound(sessionId);
    return session;
  }

  /** Replaces an error with its message for clients, because the SDK would send the original text. */
  function forClient<Given, Answer>(answer: (given: Given) => Promise<Answer>) {
    return async (given: Given): Promise<Answer> => {
      try {
        return await answer(given);
      } catch (error) {
        if (error instanceof RequestError) throw error;
        const { code, message } = toClientError(error, onError);
        throw RequestError.internalError({ code }, message);
      }
    };
  }

  return agentApp({ name: info.name })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: info,
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: true, embeddedContext: true },
        mcpCapabilities: { http: true },
      },
    }))
    .onRequest(
      methods.agent.session.new,
      forClient(async ({ params }) => {
        const sessionId = randomUUID();
        sessions.set(sessionId, await openSession(sessionId, params));
        return { sessionId };
      }),
    )
    .onRequest(
      methods.agent.session.load,
      forClient(async ({ params, client }) => {
        const session = await openSession(params.sessionId, params);
        const state = await session.agent.state(session.context);
        if (state === undefined) throw RequestError.sessionNotFound(params.sessionId);
        sessions.set(params.sessionId, session);
        for await (const message of session.agent.log(session.context).read()) {
          await sendUpdates(client, session, replayOf(message, session.directory));
        }
        await sendPlan(client, session);
        return {};
      }),
    )
    .onNotification(methods.agent.session.cancel, ({ params }) => {
      for (const one of sessionOf(params.sessionId).turns) one.abort();
    })
    .onRequest(
      methods.agent.session.prompt,
      forClient(async ({ params, client }) => {
        const session = sessionOf(params.sessionId);
        const message = userMessage(blocksOf(params.prompt, session.directory));
        const cancel = new AbortController();
        const { signal } = cancel;
        session.turns.add(cancel);
        try {
          // The message supersedes pending calls, such as those of a loaded session. The editor still shows them as pending.
          const pending = pendingCalls(await session.agent.state(session.context));
          await sendUpdates(client, session, pending.map(undecided));
          const stream = session.agent.stream(message, session.context, { signal });
          return await turn(client, session, stream, { signal, onError });
        } finally {
          session.turns.delete(cancel);
        }
      }),
    );
}

/** Sends events to the editor until the turn is over. Asks the editor for decisions on pending calls. */
async function turn(
  client: AgentContext,
  session: Session,
  stream: CallStream,
  options: AcpOptions & { readonly signal: AbortSignal },
): Promise<PromptResponse> {
  const { signal, onError } = options;
  let pending: readonly PendingCall[] = [];
  const cancelled = async (): Promise<PromptResponse> => {
    await sendUpdates(client, session, pending.map(undecided));
    return { stopReason: 'cancelled' };
  };
  try {
    for await (const event of withoutOpenCalls(stream)) {
      await sendUpdates(client, session, updatesOf(toClientEvent(event, onError), session.directory));
      if (event.type === 'tool.result') await sendPlan(client, session);
      if (event.type === 'permission.required') pending = event.calls;
    }
    const { stopReason } = await stream.reply;
    const decisions = pending.length > 0 ? await askEditor(client, session, pending, signal) : {};
    if (decisions === undefined || signal.aborted) return await cancelled();
    if (pending.length > 0) {
      const resumed = session.agent.resumeStream(session.context, { decisions, signal });
      return await turn(client, session, resumed, options);
    }
    const stopped = STOPPED[stopReason];
    if (stopped) return { stopReason: stopped };
    throw RequestError.internalError(
      { stopReason },
      'the call exceeded a time limit; send a message to continue',
    );
  } catch (error) {
    if (signal.aborted) return await cancelled();
    throw error;
  }
}

/** Asks the editor to decide about each call. Returns `undefined` if the editor cancels the turn. */
async function askEditor(
  client: AgentContext,
  session: Session,
  calls: readonly PendingCall[],
  signal: AbortSignal,
): Promise<Decisions | undefined> {
  const decisions: Record<string, Decisions[string]> = {};
  for (const call of calls) {
    const { suggestion, reason } = call;
    const seen = await previewCall(session.agent, session.context, call);
    const always = suggestion && oneLine(`Always allow ${formatRule(suggestion)}`);
    const question: RequestPermissionRequest = {
      sessionId: session.context.sessionId ?? '',
      toolCall: {
        ...toolCall(call, session.directory),
        toolCallId: shownId(call),
        status: 'pending',
        // Everything that the call would do; the title shows only the beginning.
        content: [
          ...(reason === undefined ? [] : [textContent(reason)]),
          ...contentOf(seen, session.directory),
        ],
      },
      options: [
        { optionId: 'allow', kind: 'allow_once', name: 'Allow' },
        ...(always ? [{ optionId: 'always', kind: 'allow_always' as const, name: always }] : []),
        { optionId: 'reject', kind: 'reject_once', name: 'Reject' },
      ],
    };
    const asked = client.request(methods.client.session.requestPermission, question);
    const { outcome } = await unlessAborted(asked, signal);
    if (outcome.outcome === 'cancelled') return undefined;
    const { optionId } = outcome;
    // An option that was not offered counts as a denial.
    const allows = optionId === 'allow' || (optionId === 'always' && always !== undefined);
    decisions[call.approvalId] = allows
      ? { type: 'approve', always: optionId === 'always' }
      : { type: 'deny' };
  }
  return decisions;
}

async function sendUpdates(
  client: AgentContext,
  { context }: Session,
  updates: readonly SessionUpdate[],
): Promise<void> {
  for (const update of updates) {
    await client.notify(methods.client.session.update, { sessionId: context.sessionId ?? '', update });
  }
}

/** Sends the todos if they have changed since they were last sent. */
async function sendPlan(client: AgentContext, session: Session): Promise<void> {
  const { todos = [] } = (await session.agent.state(session.context))?.tasksContext ?? {};
  const plan = JSON.stringify(todos);
  if (plan === session.plan) return;
  session.plan = plan;
  await sendUpdates(client, session, [planOf(todos)]);
}

/**
 * Converts an editor's MCP servers to named entries of an agent file. Escapes `${`, because agent files expand variables.
 *
 * @throws {RequestError} for a server with the deprecated transport.
 */
export function mcpServersOf(servers: readonly McpServer[]): readonly (readonly [string, object])[] {
  const plain = (text: string) => text.replaceAll('${', () => '$${');
  const table = (pairs: readonly { readonly name: string; readonly value: string }[]) =>
    Object.fromEntries(pairs.map(({ name, value }) => [name, plain(value)]));
  return servers.map((server, index): readonly [string, object] => {
    // A server's name must not contain two underscores, because they separate it from a tool's name.
    const words = server.name.split(/[^A-Za-z0-9-]+/).filter(Boolean);
    const name = words.join('_').slice(0, 32).replace(/_$/, '') || `server_${index + 1}`;
    if ('command' in server) {
      const { command, args, env } = server;
      return [name, { command: plain(command), args: args.map(plain), env: table(env), required: false }];
    }
    if (server.type !== 'http') {
      throw RequestError.invalidParams(
        undefined,
        `${server.name}: servers of type ${server.type} are not supported`,
      );
    }
    return [name, { url: plain(server.url), headers: table(server.headers), required: false }];
  });
}
