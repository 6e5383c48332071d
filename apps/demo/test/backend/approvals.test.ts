import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { estimateCounter, type JsonObject, type Model } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Backend } from '../../src/backend/backend.js';
import { createAgent, type DemoAgent } from '../../src/create-agent.js';
import { GuideModel } from '../../src/guide/guide-model.js';
import { noticesOf, type Told, textsOf, transcriptOf } from '../transcript.js';
import { info } from './info.js';

let data: string;
let demos: DemoAgent[];
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'x-approvals-'));
  demos = [];
});
afterEach(async () => {
  // They remember after they have answered.
  for (const { agent } of demos) await agent.close();
  rmSync(data, { recursive: true, force: true, maxRetries: 20 });
});

function open(model: Model, { embedded = false, unattended = false, repo = data } = {}): Backend {
  const demo = createAgent({ model, embedded, background: null, data, repo, unattended });
  demos.push(demo);
  return new Backend({ demo, counter: estimateCounter, info });
}

async function once(backend: Backend, isSo: (transcript: Told) => boolean, id = 's-1'): Promise<Told> {
  for (;;) {
    const transcript = await transcriptOf(backend, id);
    if (isSo(transcript)) return transcript;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const waiting = ({ pending, call }: Told) => pending.length > 0 && call === undefined;
const ended = ({ pending, call, modelCalls }: Told) =>
  modelCalls === 2 && pending.length === 0 && call === undefined;
const write = (path: string) => ({
  toolCalls: [{ name: 'write_file', input: { path, content: 'written' } satisfies JsonObject }],
});
const scripted = (...script: ConstructorParameters<typeof ScriptedModel>[0]) =>
  new ScriptedModel(script, { contextWindow: 16_000 });
const file = (path: string) => join(data, 'workspace', path);

/** Asks the agent for something that takes approval, and answers the call that waits. */
async function asked(backend: Backend): Promise<string> {
  await backend.send('s-1', 'Write it down');
  const { pending } = await once(backend, waiting);
  expect(pending).toMatchObject([{ name: 'write_file', reason: 'No rule allows write_file.' }]);
  return pending[0]?.approvalId ?? '';
}

describe('a call that takes approval', () => {
  it('waits over a restart, and is carried out by the next process once it is allowed', async () => {
    const first = open(scripted(write('plan.md')));
    const id = await asked(first);
    expect(existsSync(file('plan.md'))).toBe(false);

    const second = open(scripted({ text: 'Written.' }));
    expect((await transcriptOf(second, 's-1')).pending).toMatchObject([{ approvalId: id }]);
    await second.decide('s-1', { [id]: { type: 'approve', always: true } });
    const decided = await once(second, ended);
    expect(readFileSync(file('plan.md'), 'utf8')).toBe('written');
    expect(noticesOf(decided).map(({ message }) => message)).toEqual([
      'You allowed it to write plan.md, and calls like this one from now on.',
    ]);
  });

  it('is run with the input that the user gave it instead', async () => {
    const backend = open(scripted(write('plan.md'), { text: 'Written.' }));
    const id = await asked(backend);
    await backend.decide('s-1', { [id]: { type: 'edit', input: { path: 'other.md', content: 'mine' } } });
    await once(backend, ended);
    expect(existsSync(file('plan.md'))).toBe(false);
    expect(readFileSync(file('other.md'), 'utf8')).toBe('mine');
  });

  it('is not run when it is denied, and the model reads why', async () => {
    const backend = open(scripted(write('plan.md'), { text: 'Then not.' }));
    const id = await asked(backend);
    await backend.decide('s-1', { [id]: { type: 'deny', reason: 'Tell me first.' } });
    const denied = await once(backend, ended);
    expect(existsSync(file('plan.md'))).toBe(false);
    expect(textsOf(denied)).toContain('The user denied this call: Tell me first.');
  });

  it('is denied by a message, with its words', async () => {
    const backend = open(scripted(write('plan.md'), { text: 'Then not.' }));
    await asked(backend);
    expect(await backend.sessions()).toMatchObject([{ id: 's-1', waits: true }]);
    await backend.send('s-1', 'Tell me first.');
    const denied = await once(backend, ended);
    expect(await backend.sessions()).toMatchObject([{ id: 's-1', waits: false }]);
    expect(existsSync(file('plan.md'))).toBe(false);
    expect(textsOf(denied)).toContain('The user denied this call: Tell me first.');
    expect(textsOf(denied)).toContain('Tell me first.');
    const notices = noticesOf(denied).map(({ message }) => message);
    expect(notices).toEqual(['You did not allow it to write plan.md.']);
  });

  it('is decided once', async () => {
    const backend = open(scripted(write('plan.md'), { text: 'Written.' }));
    const id = await asked(backend);
    await backend.decide('s-1', { [id]: { type: 'approve' } });
    await once(backend, ended);
    for (const decisions of [{ [id]: { type: 'deny' } as const }, {}])
      await expect(backend.decide('s-1', decisions)).rejects.toMatchObject({ code: 'not_pending' });
  });
});

it('keeps its data and secrets out of the repository around them, from the agent and from the page', async () => {
  const [repo, home] = [data, join(data, 'kept')];
  for (const path of ['.env', '.env.local']) writeFileSync(join(repo, path), 'canary-1\n');
  writeFileSync(join(repo, 'README.md'), 'A repository.\n');
  const reads = ['repo/README.md', 'repo/.env', 'repo/.env.local', 'repo/kept', 'repo/KEPT/workspace'];
  const grep = { name: 'grep_files', input: { pattern: 'canary', path: 'repo' } };
  const list = { name: 'list_files', input: { path: 'repo', recursive: true } };
  const script = scripted(
    { text: 'canary-1 it is.' },
    { toolCalls: [...reads.map((path) => ({ name: 'read_file', input: { path } })), grep, list] },
    { text: 'Done.' },
  );
  data = home;
  const backend = open(script, { repo });
  await backend.send('s-1', 'Keep canary-1');
  await once(backend, ({ modelCalls, call }) => modelCalls === 1 && call === undefined);
  const kept = readdirSync(home, { recursive: true, encoding: 'utf8' });
  expect(kept.length).toBeGreaterThan(2);
  await backend.send('s-2', 'Look');
  await once(backend, ({ modelCalls, call }) => modelCalls === 2 && call === undefined, 's-2');
  const results = JSON.stringify(script.requests.at(-1)?.messages);
  expect(results).toContain('A repository.');
  expect(results).not.toMatch(/canary-1|repo\/kept\/[\w.]/);
  for (const path of [...kept.map((name) => `repo/kept/${name}`), 'repo/.env'])
    await expect(backend.readFile(path)).rejects.toMatchObject({
      name: 'WorkspaceError',
    });
  data = repo;
});

describe('what takes no approval', () => {
  it.each(['REPORT.md', 'REPORT-2.md', 'notes/today.md'])('writing %s', async (path) => {
    const backend = open(scripted(write(path), { text: 'Written.' }));
    await backend.send('s-1', 'Write it down');
    await once(backend, ended);
    expect(existsSync(file(path))).toBe(true);
  });

  it.each([
    ['ls', false],
    ['git log --oneline', false],
    ['git diff --output=stolen.txt', true],
    ['git diff --no-index /dev/null /etc/passwd', true],
    ['cat /proc/$PPID/environ', true],
    ['cat ~/.ssh/id_ed25519', true],
    ['cat ../secret', true],
    ['grep -r . /proc/self/environ', true],
    ['ls /home', true],
    ['cat a > b', true],
    ['npm test', true],
  ])('%s: asked %s', async (command, asks) => {
    const script = scripted({ toolCalls: [{ name: 'execute', input: { command } }] }, { text: 'Done.' });
    const backend = open(script);
    await backend.send('s-1', 'Run it');
    const { pending } = await once(backend, asks ? waiting : ended);
    expect(pending).toHaveLength(asks ? 1 : 0);
  });
});

describe('where nobody can be asked', () => {
  it('such a call is denied, and the answer comes', async () => {
    const backend = open(scripted(write('plan.md'), { text: 'Not allowed.' }), { unattended: true });
    await backend.send('s-1', 'Write it down');
    const denied = await once(backend, ended);
    expect(existsSync(file('plan.md'))).toBe(false);
    expect(textsOf(denied).join()).toContain('nobody can be asked');
  });
});

describe('the embedded guide', () => {
  it('asks before it writes what it is told to', async () => {
    const guide = new GuideModel({ contextWindow: 16_000, counter: estimateCounter });
    const backend = open(guide, { embedded: true });
    await backend.send('s-1', 'write ideas.md: look at the stores first');
    const { pending } = await once(backend, waiting);
    expect(pending[0]?.seen).toMatchObject({
      wants: 'create ideas.md',
      lines: [{ mark: '+', text: 'look at the stores first' }],
    });
    await backend.decide('s-1', { [pending[0]?.approvalId ?? '']: { type: 'approve' } });
    const answered = await once(backend, ended);
    expect(readFileSync(file('ideas.md'), 'utf8')).toBe('look at the stores first\n');
    expect(textsOf(answered).at(-1)).toMatch(/^Done\./);
  });
});
