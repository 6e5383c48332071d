// Prepares what the commands of a page need: logs, a workspace with a session, and the addresses of servers and of a model.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../workspace.mjs';

const settings = 'name: coder\nmodel: openai:gpt-5\n';

/** A conversation in the format of Claude Code. */
const log = ['Which port?', 'Port 8080, as config/server.yaml says.']
  .map((text, index) => ({
    type: index === 0 ? 'user' : 'assistant',
    uuid: `message-${index}`,
    parentUuid: index === 0 ? null : `message-${index - 1}`,
    sessionId: 'session-1',
    timestamp: `2026-01-01T00:00:0${index}.000Z`,
    message:
      index === 0
        ? { role: 'user', content: text }
        : { role: 'assistant', id: 'msg_1', content: [{ type: 'text', text }] },
  }))
  .map((line) => JSON.stringify(line))
  .join('\n');

/**
 * Writes the files that the commands of a page need into its folder, with the page's `agent.yaml` if it shows one. Stores a session
 * `s-001` of `alice` with the agent `coder` in the workspace and in both servers.
 */
export async function prepareFixtures(directory, services, markdown) {
  for (const project of ['my-app', 'my-project']) {
    const folder = join(directory, '.claude/projects', project);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'session-1.jsonl'), `${log}\n`);
  }
  await writeFile(join(directory, 'prompt.txt'), 'How many tokens is this?\n');
  const place = {
    directory,
    services,
    env: {
      PATH: process.env.PATH,
      HOME: directory,
      OPENAI_API_KEY: 'walk',
      ANTHROPIC_API_KEY: 'walk',
      OPENAI_BASE_URL: services.model,
      SESSION_STORE: services.redis,
    },
  };
  // `git diff` needs a change.
  await run('git', ['init', '--quiet'], { cwd: directory });
  await run('git', ['add', '--intent-to-add', 'prompt.txt'], { cwd: directory });
  const [, own] = /```yaml\n# agent\.yaml\n(.*?)```/s.exec(markdown) ?? [];
  await writeFile(join(directory, 'agent.yaml'), own ?? settings);
  await seed(place);
  return place;
}

/** Runs a command with the addresses of the running servers. */
export function runCommand(command, { directory, env, services }) {
  const here = command
    .replaceAll(/redis:\/\/localhost(?::6379)?/g, services.redis)
    .replaceAll(/mysql:\/\/localhost\/agents/g, services.mysql);
  return run('sh', ['-c', here], { cwd: directory, env, input: 'Hello', seconds: 120 });
}

async function seed({ directory, env, services }) {
  const stores = { workspace: undefined, redis: services.redis, mysql: services.mysql };
  for (const [name, address] of Object.entries(stores)) {
    const file = join(directory, `seed-${name}.yaml`);
    const session = address === undefined ? '' : `session: ${address}\n`;
    await writeFile(file, settings + session);
    await run('sh', ['-c', `npx @x/cli run ${file} --session s-001 --user alice --prompt Hello`], {
      cwd: directory,
      env,
    });
  }
}
