import { existsSync } from 'node:fs';
import { AgentState, type Message, SessionConflictError, SessionKey } from '@x/core';
import { operationOf, titleOf } from '@x/core/internal';
import { checkMessages } from '@x/core/messages';
import { WorkspaceSessionLog } from '@x/core/node';
import { oneLine } from '@x/harness/view';
import { importConversation } from '@x/replay';
import { type Command, command, shellCommand, UsageError } from '../../command.js';
import { describeSession } from '../../find-session.js';
import { openWorkspace } from '../../identity-options.js';
import { sessionOptions, withStore } from '../../open-store.js';
import { readDocument, readInput } from '../../read-input.js';
import { readLog } from '../replay/read-log.js';
import { DEFAULT_AGENT_FILE } from '../run.js';
import { withOurTools } from './adopted-tools.js';

/** Stores a session from a file that {@link exportSession} wrote, or from the log of another agent. */
export const importSession = command({
  name: 'sessions import',
  takes: 'FILE',
  options: {
    session: {
      type: 'string',
      value: 'ID',
      help: 'The id for the session. Default: its id in the file.',
    },
    format: { type: 'string', value: 'NAME', help: 'The format of the log, if it is not recognized.' },
    ...sessionOptions,
  },
  summary:
    'Imports an exported session, or a log of Claude Code, Codex, Gemini CLI, opencode or another agent, so that x run can continue it. Calls of its tools become calls of equivalent tools of x. Never overwrites a session. Of an exported session, only the messages are imported. - reads standard input.',
  examples: [
    'x sessions import s-001.jsonl --redis redis://localhost',
    'x sessions import ~/.claude/projects/my-app/0b9f.jsonl && x run -c',
  ],
  async run({ values, positionals: [file = ''], output }) {
    const text = await readInput(file);
    const { id, log, about, ...read } = parseExport(text) ?? parseLog(text, file, values);
    const owner = { tenantId: values.tenant, userId: values.user, sessionId: values.session ?? id };
    const key = SessionKey.of({ ...owner, agentId: values.agent ?? (await defaultAgentName()) });
    const state = AgentState.fromJSON({ ...AgentState.create(owner).head(), ...read });
    state.title = titleOf([...log, ...state.context]);
    // The operation id derives from the file, so that a repeated import is the same commit.
    const change = { operation: operationOf(`${key} ${text}`), expected: undefined, keep: 0 };
    const isKnown = await withStore(values, { readOnly: false, createTables: true }, async (store) => {
      const known = await store.load(key, { last: 0 });
      // The log is written first, as in a call, but not if another session has this key.
      if (log.length > 0 && known === undefined)
        await new WorkspaceSessionLog(openWorkspace(values), key).append(log);
      await store
        .commit(key, { ...change, head: state.head(), append: state.context })
        .catch((error: unknown) => {
          if (!SessionConflictError.isInstance(error)) throw error;
          throw new UsageError(
            `Session ${describeSession(key.parts)} already exists. To import the file under another id: --session ID.`,
          );
        });
      return known !== undefined;
    });
    const { sessionId: session, userId: user, tenantId: tenant } = key.parts;
    const next = shellCommand(['run'], { session, user, tenant });
    const name = describeSession(key.parts).replace('  ', ' ');
    const done = isKnown ? `Imported before, so nothing changed: ${name}` : `Imported ${name}${about}`;
    for (const line of [`${done}.`, `Go on with: ${next}`]) output.write(`${oneLine(line)}\n`);
  },
});

/** An alias of `sessions import`, for the logs of other agents. */
export const adoptSession: Command = {
  ...importSession,
  name: 'sessions adopt',
  summary:
    'Imports the log of another agent, so that x run can continue it. Does the same as x sessions import.',
  examples: ['x sessions adopt ~/.claude/projects/my-app/0b9f.jsonl && x run -c'],
};

/**
 * Reads the messages in the output of {@link exportSession}. Returns `undefined` for any other text. The rest of the state is ignored: anyone
 * can write such a file, and its rules could let tools run without approval.
 */
function parseExport(text: string) {
  const [first = '', ...lines] = text.trimEnd().split('\n');
  const { type, state } = parseLine(first);
  if (type !== 'state') return undefined;
  const { sessionId: id, schemaVersion, context = [] } = Object(state);
  const log = lines.map((line) => parseLine(line).message as Message);
  checkMessages(log, 'SessionLog');
  return { id, schemaVersion, context, log, about: `: ${context.length} messages, without the other state` };
}

function parseLine(line: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(line));
  } catch {
    return {};
  }
}

/** Converts the log of another agent to a session. */
function parseLog(
  text: string,
  file: string,
  values: { readonly workspace: string; readonly format?: string | undefined },
) {
  const { id = file, format, messages, unread } = readLog(importConversation, text, file, values.format);
  const log = withOurTools(messages, values.workspace);
  const left = Object.entries(unread).map(([reason, count]) => `, not read: ${count} × ${reason}`);
  const about = `: ${format}, ${log.length} messages${left.join('')}`;
  return { id, context: log, log, about };
}

/** Returns the name of the agent that `x run` would use. */
async function defaultAgentName(): Promise<string> {
  if (!existsSync(DEFAULT_AGENT_FILE)) return 'agent';
  const name: unknown = (await readDocument(DEFAULT_AGENT_FILE)).get('name');
  return typeof name === 'string' ? name : 'agent';
}
