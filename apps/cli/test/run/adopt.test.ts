import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { x } from '../support/run-command.js';
import { type FakeEndpoint, fakeEndpoint } from './fake-endpoint.js';

const start = process.cwd();
let directory: string;
let endpoint: FakeEndpoint;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'x-adopt-'));
  mkdirSync(join(directory, 'files'));
  endpoint = await fakeEndpoint(Array.from({ length: 4 }, () => ({ text: 'Going on.' })));
  writeFileSync(
    join(directory, 'agent.yaml'),
    'name: mine\nmodel: { id: compatible:fake, context_window: 8000 }\nworkspace: ./files\ncapabilities: [compaction, workspace_tools]\n',
  );
  vi.stubEnv('OPENAI_BASE_URL', endpoint.url);
  vi.stubEnv('OPENAI_API_KEY', 'secret-key');
  process.chdir(directory);
});
afterEach(async () => {
  await endpoint.close();
  vi.unstubAllEnvs();
  process.chdir(start);
  rmSync(directory, { recursive: true, force: true, maxRetries: 20 });
});

/** A session of Claude Code that read 30 files, and has a request that nobody has answered. */
function log(): string {
  const rows: object[] = [];
  const add = (type: string, content: unknown) => {
    const [uuid, parentUuid] = [`u${rows.length}`, rows.length === 0 ? null : `u${rows.length - 1}`];
    rows.push({ type, uuid, parentUuid, sessionId: 'theirs', message: { role: type, id: uuid, content } });
  };
  add('user', 'Find out why the invoices of March are wrong. Never touch src/legacy/.');
  for (let index = 0; index < 30; index++) {
    const file = join(process.cwd(), 'files', `src/part-${index}.ts`);
    add('assistant', [{ type: 'tool_use', id: `c${index}`, name: 'Read', input: { file_path: file } }]);
    const content = `export const rate${index} = ${index};\n`.repeat(40);
    add('user', [{ type: 'tool_result', tool_use_id: `c${index}`, content }]);
  }
  add('assistant', [{ type: 'text', text: 'The rate in part-17 is from 2019.' }]);
  add('user', 'Mend it, then.');
  return rows.map((row) => JSON.stringify(row)).join('\n');
}

it('goes on with the session of another agent: compacted, with our tools', async () => {
  const file = join(directory, 'theirs.jsonl');
  writeFileSync(file, log());
  const adopted = await x(['sessions', 'adopt', file, '-w', 'files']);
  expect(adopted).toMatchObject({ status: 0, stderr: '' });
  expect(adopted.stdout).toMatch(
    /^Adopted theirs \(mine\): claude-code, 63 messages\.\nGo on with: x run --session theirs$/m,
  );

  const { stdout, stderr } = await x(['run', '--session', 'theirs', '-p', 'And say what you did.']);
  expect(stdout, stderr).toBe('Going on.\n');
  const request = JSON.stringify(endpoint.requests.at(-1));
  expect(request.length).toBeLessThan(32_000);
  for (const kept of [
    'Never touch src/legacy/.',
    'Mend it, then.',
    'And say what you did.',
    'src/part-29.ts',
  ])
    expect(request).toContain(kept);
  expect(request).toContain('read_file');
  expect(request).not.toContain(directory);

  const again = await x(['sessions', 'adopt', file, '-w', 'files']);
  expect(again.stderr).toContain('There is a session theirs');
  expect((await x(['sessions', 'adopt', file, '-w', 'files', '--session', 'other'])).status).toBe(0);
});
