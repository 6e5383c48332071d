import { existsSync } from 'node:fs';
import { AgentState, SessionKey } from '@x/core';
import { operationOf } from '@x/core/internal';
import { WorkspaceSessionLog } from '@x/core/node';
import { importConversation } from '@x/replay';
import { command, UsageError } from '../../command.js';
import { describeSession } from '../../find-session.js';
import { identityOptions, openWorkspace } from '../../identity-options.js';
import { storeOptions, withStore } from '../../open-store.js';
import { readDocument } from '../../read-input.js';
import { readLog } from '../replay/read-log.js';
import { DEFAULT_AGENT_FILE } from '../run.js';
import { withOurTools } from './adopted-tools.js';

/** Converts another agent's log to a session. */
export const adoptSession = command({
  name: 'sessions adopt',
  takes: 'FILE',
  options: {
    session: {
      type: 'string',
      value: 'ID',
      help: 'The name of the session here. Default: its name in the log.',
    },
    format: { type: 'string', value: 'NAME', help: 'The format of the log, if it is not recognized.' },
    ...storeOptions,
    ...identityOptions,
  },
  summary:
    'Makes a session of the log of Claude Code, Codex, Gemini CLI, opencode or another agent, so that x run goes on with its work. Calls of tools that have a counterpart here become calls of that one. A session that is there already stays.',
  examples: ['x sessions adopt ~/.claude/projects/my-app/0b9f.jsonl && x run -c'],
  async run({ values, positionals: [file = ''], output }) {
    const conversation = await readLog(importConversation, file, values.format);
    const key = SessionKey.of({
      tenantId: values.tenant,
      userId: values.user,
      agentId: values.agent ?? (await ownAgent()),
      sessionId: values.session ?? conversation.id ?? file,
    });
    const messages = withOurTools(conversation.messages, values.workspace);
    const { agentId: _, ...identity } = key.parts;
    const state = AgentState.create(identity);
    state.contextMutable().push(...messages);
    const change = {
      operation: operationOf(`${key} ${JSON.stringify(messages)}`),
      expected: undefined,
      keep: 0,
    };
    await withStore(values, { readOnly: false, createTables: true }, async (store) => {
      if ((await store.load(key, { last: 0 })) !== undefined)
        throw new UsageError(
          `There is a session ${describeSession(key.parts)} already. Give this one another name: --session ID.`,
        );
      await new WorkspaceSessionLog(openWorkspace(values), key).append(messages);
      await store.commit(key, { ...change, head: state.head(), append: messages });
    });
    const left = Object.entries(conversation.unread).map(
      ([reason, count]) => `, left out: ${count} × ${reason}`,
    );
    output.write(
      `Adopted ${describeSession(key.parts).replace('  ', ' ')}: ${conversation.format}, ${messages.length} messages${left.join('')}.\n` +
        `Go on with: x run --session ${key.parts.sessionId}\n`,
    );
  },
});

/** Returns the name of the agent that `x run` would use. */
async function ownAgent(): Promise<string> {
  if (!existsSync(DEFAULT_AGENT_FILE)) return 'agent';
  const name: unknown = (await readDocument(DEFAULT_AGENT_FILE)).get('name');
  return typeof name === 'string' ? name : 'agent';
}
