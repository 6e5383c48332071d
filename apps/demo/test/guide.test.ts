import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import {
  assistantMessage,
  type Message,
  RuntimeContext,
  SessionKey,
  storageOf,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import type { HarnessAgent } from '@x/harness';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { AGENT, createAgent } from '../src/create-agent.js';
import { decide } from '../src/guide/decide.js';
import { GuideModel } from '../src/guide/guide-model.js';
import { readView } from '../src/guide/view.js';

const AREAS = ['engine', 'tools/cutter', 'tools/press'];
/** What is said when the guide looks at a path first. */
const ASIDES = new Map([
  ['repo', 'also name the version of node'],
  ['repo/tools/cutter/README.md', 'How many files has tools/press?'],
]);
const context = RuntimeContext.of({ sessionId: 's' });

let root: string;
let agent: HarnessAgent;
const entered: Promise<boolean>[] = [];

/** Surveys a small repository; two things are said meanwhile. */
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'x-guide-'));
  const repo = join(root, 'repo');
  for (const area of AREAS) {
    mkdirSync(join(repo, area), { recursive: true });
    for (const file of ['a.ts', 'b.ts', 'c.ts']) writeFileSync(join(repo, area, file), '// TODO\nlet a;\n');
    writeFileSync(join(repo, area, 'README.md'), `# ${area}\n\nMakes steam for ${area}.\n`);
  }
  const model = new GuideModel({ contextWindow: 16_000, counter: tiktokenCounter() });
  ({ agent } = createAgent({ model, embedded: true, data: join(root, 'data'), repo }));
  for await (const event of agent.stream('survey this repository', context)) {
    if (event.type !== 'tool.call') continue;
    const { path } = event.call.input as { path?: string };
    const aside = ASIDES.get(path ?? '');
    // What is looked up again is no occasion to say it again.
    ASIDES.delete(path ?? '');
    if (aside) entered.push(agent.steer(context, aside));
  }
});
afterAll(async () => {
  await agent.close();
  rmSync(root, { recursive: true, force: true, maxRetries: 20 });
});

const ask = async (question: string) => (await agent.call(question, context)).text;

it('answers what is said during a survey, once, and goes on with it', async () => {
  expect(await Promise.all(entered)).toEqual([true, true]);
  const log = new WorkspaceSessionLog(
    storageOf(new LocalWorkspace(join(root, 'data/workspace'))),
    SessionKey.of({ agentId: AGENT, sessionId: 's' }),
  );
  const said: Message[] = [];
  for await (const message of log.read()) if (message.role === 'assistant') said.push(message);
  const texts = said.map(textOf);
  const answers = texts.filter((text) => text.endsWith('I go on with the survey.'));
  expect(answers).toEqual([
    expect.stringContaining('no line with most of these words: name, version, node'),
    expect.stringContaining('tools/press has 4 files with 9 lines'),
  ]);
  expect(texts.at(-1)).toContain('The survey is done: 3 areas with 27 lines');
  const report = readFileSync(join(root, 'data/workspace/REPORT.md'), 'utf8');
  expect(report.match(/^Figures for \S+/gm)).toHaveLength(3);
  expect(report).not.toContain('<!-- survey:');
});

it('tells what the report says of a directory, whatever the language of the question', async () => {
  const section =
    'REPORT.md says of tools/cutter:\n\n- Makes steam for tools/cutter.\n- Figures for tools/cutter: 4 files, 9 lines';
  expect(await ask('What did you find in tools/cutter?')).toContain(section);
  expect(await ask('Wie viele Dateien hat tools/cutter?')).toContain(section);
  expect(await ask('What did you find in tools/cutter about quaternions?')).toContain(
    'Of quaternions I have no record there',
  );
});

it('adds up what is counted', async () => {
  expect(await ask('How many TODOs are there?')).toBe(
    'REPORT.md counts 9 todos in its 3 areas.\n\n- engine: 3\n- tools/cutter: 3\n- tools/press: 3',
  );
});

it.each([
  ['Why was the conversation reduced?', 'each line “Context compacted”'],
  ['What was removed last?', '“Removed last” beside the gauge'],
  ['what did it cost?', '“Cost and cache” at the right'],
  ['What did the model see at step 120?', 'the key i, goes to any request'],
  ['How many compactions were there?', 'each line “Context compacted”'],
  ['how many tokens did it take?', '“Cost and cache” at the right'],
  ['open the report', 'REPORT.md begins with this.'],
  ['Summarize the report', 'REPORT.md begins with this.'],
  ['Thanks!', 'Gladly.'],
])('says where the page tells it: %s', async (question, words) => {
  expect(await ask(question)).toContain(words);
});

it('quotes the lines that have half of the words, and names the others', async () => {
  const text = await ask('How do quaternions and steam in tools help anybody?');
  expect(text).toMatch(/says:\n\n- .*steam/);
  expect(text).toContain('Of quaternions');
});

it('never quotes that it found nothing', async () => {
  expect(await ask('Which unicorns, zebras graze?')).toContain('I found no line with most of these words');
  expect(await ask('unicorns zebras graze')).not.toContain('From');
});

it('remembers what it was told to, in every conversation', async () => {
  const place = mkdtempSync(join(tmpdir(), 'x-guide-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true, maxRetries: 20 }));
  const say = async (words: string, sessionId: string) => {
    const model = new GuideModel({ contextWindow: 16_000, counter: tiktokenCounter() });
    const other = createAgent({ model, embedded: true, data: place, repo: join(root, 'repo') }).agent;
    const { text } = await other.call(words, RuntimeContext.of({ sessionId }));
    await other.close();
    return text;
  };
  await say('Remember that my name is Ada Lovelace.', 'one');
  const text = await say('What is my name?', 'two');
  expect(text).toMatch(/^My memory says:\n\n- .*name is Ada Lovelace/i);
});

it('finds nothing to go on with once all is done', async () => {
  expect(await ask('go on')).toContain('Nothing is left unfinished');
});

describe('what is said in the middle of a survey', () => {
  /** Surveys, is told something as soon as a file is read, and stopped; then goes on. */
  async function stopped(aside: string, directory = 'engine') {
    const place = mkdtempSync(join(tmpdir(), 'x-guide-'));
    onTestFinished(() => rmSync(place, { recursive: true, force: true, maxRetries: 20 }));
    mkdirSync(join(place, 'repo', directory), { recursive: true });
    for (const file of ['a.ts', 'b.ts', 'c.ts'])
      writeFileSync(join(place, 'repo', directory, file), 'let a;\n');
    const model = new GuideModel({ contextWindow: 16_000, counter: tiktokenCounter() });
    const other = createAgent({
      model,
      embedded: true,
      data: join(place, 'data'),
      repo: join(place, 'repo'),
    }).agent;
    onTestFinished(() => other.close());
    let isSaid = aside === '';
    let text = '';
    for await (const event of aside === '' ? [] : other.stream('survey this repository', context)) {
      if (event.type === 'tool.call' && !isSaid) {
        isSaid = true;
        void other.steer(context, aside);
      }
      if (event.type === 'tool.call' && JSON.stringify(event.call.input).includes('Answer: ')) break;
    }
    const commands: string[] = [];
    for await (const event of other.stream(aside === '' ? 'survey this repository' : 'go on', context)) {
      if (event.type === 'tool.call' && event.call.name === 'execute')
        commands.push(JSON.stringify(event.call.input));
      if (event.type === 'call.completed') text = event.text;
    }
    return { text, commands, steps: (await other.state(context))?.context.length, place };
  }

  it('is answered after a stop, and the survey comes to its end', async () => {
    const { text, commands } = await stopped("x'; touch pwned; echo 'which port");
    expect(text).toContain('The survey is done: 1 areas');
    expect(commands.join('\n')).not.toContain('pwned');
  });

  it('is quoted where it is a name of the repository', async () => {
    const { text, place } = await stopped('', "it's$(touch${IFS}pwned)");
    expect(text).toContain('The survey is done');
    expect(existsSync(join(place, 'repo/pwned'))).toBe(false);
  });
});

describe('“go on”', () => {
  const question = userMessage('Which port does it use?');
  const call = { type: 'tool_use', id: 'c', name: 'session_search', input: {} } as const;
  const request = (messages: readonly Message[]) => readView({ messages, tools: [] });

  it('is about what was asked before, unless that has its answer', () => {
    const amid = [question, assistantMessage([call]), toolResultMessage(call, 'x'), userMessage('go on')];
    expect(request(amid)).toMatchObject({ request: 'Which port does it use?', isFresh: false });
    expect(request([question, assistantMessage('4173'), userMessage('go on')]).request).toBe('go on');
  });

  it('answers first what was asked in a survey', () => {
    const todos = '[x] Orient myself: top level, manifest, README, areas\n[>] Answer: hello\n[ ] Survey a';
    const { text, calls } = decide(
      request([assistantMessage('Hm.'), userMessage('go on'), userMessage(todos, { kind: 'synthetic' })]),
    );
    expect(text).toMatch(/^I am the embedded guide[\s\S]*I go on with the survey\.$/);
    expect(calls).toMatchObject([{ name: 'todo_write' }]);
  });
});
