import { resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import { errorText } from '@x/core/internal';
import { shutdownOnSignals } from '@x/harness';
import { acpAgent, mcpServersOf } from '../acp/acp-agent.js';
import { keepOutOfGit, type OpenAgent, openAgent } from '../agent/open-agent.js';
import { command } from '../command.js';
import { agentOptions } from '../identity-options.js';
import { version } from '../version.js';
import { DEFAULT_AGENT_FILE } from './run.js';

/** Writes an error to standard error, which editors save in their logs. The editor shows it too, because its user runs the agent. */
function logError(error: unknown): string {
  const text = errorText(error);
  console.error(text);
  return text;
}

/** Serves the agent of a file to editors, over standard input and output. */
export const acp = command({
  name: 'acp',
  takes: '[agent.yaml]',
  options: agentOptions,
  summary: 'Serves the agent of a file to editors such as Zed (ACP).',
  examples: ['x acp agent.yaml'],
  async run({ values, positionals: [file = DEFAULT_AGENT_FILE], output }) {
    const opened = new Map<string, Promise<OpenAgent>>();
    const openIn = (directory: string, editors: Parameters<typeof mcpServersOf>[0]): Promise<OpenAgent> => {
      const servers = mcpServersOf(editors);
      const project = resolve(directory);
      const key = JSON.stringify([project, servers]);
      const one =
        opened.get(key) ?? openAgent(file, { model: values.model, project, servers, trust: values.trust });
      opened.set(key, one);
      // An agent that failed to open is retried, because its file may have been fixed.
      one.catch(() => opened.delete(key));
      return one;
    };
    // If the editor disconnects, nobody can follow a running call, so stop it at once.
    const close = async () => {
      await Promise.all([...opened.values()].map(async (one) => (await one).close({ drainMs: 0 })));
    };
    const release = shutdownOnSignals({ close }, { signals: ['SIGTERM', 'SIGINT', 'SIGHUP'], drainMs: 0 });
    // Opens the agent at the start, so that an invalid file is reported before an editor connects.
    await openIn('.', []);
    const app = acpAgent(
      async (directory, editors) => {
        const { agent } = await openIn(directory, editors);
        await keepOutOfGit(agent);
        return agent;
      },
      { name: 'x', version: version() },
      { userId: values.user, onError: logError },
    );
    const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
    const { closed } = app.connect(
      ndJsonStream(Writable.toWeb(output as Writable) as WritableStream<Uint8Array>, input),
    );
    await closed;
    await close();
    release();
  },
});
