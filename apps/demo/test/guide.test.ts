import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import {
  assistantMessage,
  type Message,
  type Model,
  RuntimeContext,
  type ToolUseBlock,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { type HarnessAgent, pendingCalls } from '@x/harness';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Backend } from '../src/backend/backend.js';
import { createAgent } from '../src/create-agent.js';
import { readme } from '../src/guide/facts.js';
import { decide, GuideModel } from '../src/guide/guide-model.js';
import { readView } from '../src/guide/view.js';
import { info } from './backend/info.js';
import { transcriptOf } from './transcript.js';

const context = RuntimeContext.of({ sessionId: 's' });
const SENTENCE =
  /^I cannot answer that, because I am a set of rules and not a language model\. .*OPENAI_BASE_URL/;

/** The guide over a small repository with these areas. */
function guideOver(...areas: readonly string[]): { readonly agent: HarnessAgent; readonly place: string } {
  const place = mkdtempSync(join(tmpdir(), 'x-guide-'));
  onTestFinished(() => rmSync(place, { recursive: true, force: true, maxRetries: 20 }));
  for (const area of areas) {
    mkdirSync(join(place, 'repo', area), { recursive: true });
    for (const file of ['a.ts', 'b.ts', 'c.ts']) writeFileSync(join(place, 'repo', area, file), 'let a;\n');
  }
  const model = new GuideModel({ contextWindow: 16_000, counter: tiktokenCounter() });
  const { agent } = createAgent({
    model,
    embedded: true,
    data: join(place, 'data'),
    repo: join(place, 'repo'),
  });
  onTestFinished(() => agent.close());
  return { agent, place };
}

const isListing = ({ name }: ToolUseBlock) => name === 'list_files';
/** Whether a call completes the last todo. */
const isConclusion = ({ name, input }: ToolUseBlock) =>
  name === 'todo_write' && !/"(?:pending|in_progress)"/.test(JSON.stringify(input));

/** Surveys; something is said at a call, by default at the first listing of an area. */
async function surveyed({ agent }: ReturnType<typeof guideOver>, aside?: string, isAt = isListing) {
  let steered: Promise<boolean> | undefined;
  let text = '';
  for await (const event of agent.stream('survey this repository', context)) {
    if (event.type === 'call.completed') text = event.text;
    if (event.type !== 'tool.call' || aside === undefined || steered) continue;
    if (isAt(event.call)) steered = agent.steer(context, aside);
  }
  return { text, steered: await steered };
}

const saidBy = async (agent: HarnessAgent) => {
  const said: Message[] = [];
  for await (const message of agent.log(context).read()) if (message.role === 'assistant') said.push(message);
  return said.map(textOf);
};

it.each(['How many files has packages/core?', 'hello', 'Where is openSession defined?', 'survey?', 'go on'])(
  'says of any question that it cannot answer it, what it can do, and how to give it a model (%s)',
  async (question) => {
    const { agent } = guideOver();
    const { text } = await agent.call(question, context);
    expect(text).toMatch(SENTENCE);
    expect(text).not.toContain('\n');
  },
);

it('answers what is said during a survey, once, and finishes the survey', async () => {
  const guide = guideOver('engine', 'tools/cutter', 'tools/press');
  const { text, steered } = await surveyed(guide, 'also name the version of node');
  expect(steered).toBe(true);
  expect(text).toMatch(/^The survey is done: 3 areas with 9 lines/);
  const answers = (await saidBy(guide.agent)).filter((said) => SENTENCE.test(said));
  expect(answers).toEqual([expect.stringMatching(/I go on with the survey\.$/)]);
  const report = readFileSync(join(guide.place, 'data/workspace/REPORT.md'), 'utf8');
  expect(report.match(/^Figures for \S+/gm)).toHaveLength(3);
  expect(report).not.toContain('<!-- survey:');
  // The list of todos is still there: a question is not taken for a part of the survey.
  expect((await guide.agent.call('What is in tools/press?', context)).text).toMatch(SENTENCE);
});

it.each([isListing, isConclusion])(
  'writes what is asked for during a survey, and finishes it',
  async (isAt) => {
    const guide = guideOver('engine');
    expect(await surveyed(guide, 'write later.md: hello', isAt)).toEqual({
      text: 'I will write that to later.md.\n\nI go on with the survey.',
      steered: true,
    });
    const calls = pendingCalls(await guide.agent.state(context));
    expect(calls).toMatchObject([{ input: { path: 'later.md', content: 'hello\n' } }]);
    const decisions = { [calls[0]?.approvalId ?? '']: { type: 'approve' } as const };
    expect((await guide.agent.resume(context, { decisions })).text).toMatch(/^The survey is done: 1 areas/);
    expect(readFileSync(join(guide.place, 'data/workspace/later.md'), 'utf8')).toBe('hello\n');
    expect((await saidBy(guide.agent)).filter((said) => SENTENCE.test(said))).toEqual([]);
  },
);

it('answers what is said at the end of a survey, and still concludes it', async () => {
  const guide = guideOver('engine');
  const { text, steered } = await surveyed(guide, 'How many stores?', isConclusion);
  expect(steered).toBe(true);
  expect(text).toMatch(/^The survey is done: 1 areas with 3 lines.* in `REPORT\.md`\.$/);
  expect((await saidBy(guide.agent)).filter((said) => SENTENCE.test(said))).toHaveLength(1);
});

it('writes a report for each survey, also in another conversation', async () => {
  const { agent, place } = guideOver('engine');
  const report = (file: string) => readFileSync(join(place, 'data/workspace', file), 'utf8');
  const other = RuntimeContext.of({ sessionId: 'other' });
  expect((await agent.call('survey this repository', context)).text).toMatch(/ in `REPORT\.md`\.$/);
  const first = report('REPORT.md');
  expect((await agent.call('survey this repository', other)).text).toMatch(/ in `REPORT-2\.md`\.$/);
  expect((await agent.call('survey this repository', context)).text).toMatch(/ in `REPORT-3\.md`\.$/);
  expect(report('REPORT.md')).toBe(first);
  expect([report('REPORT-2.md'), report('REPORT-3.md')]).toEqual([first, first]);
});

it('goes on with a survey that was stopped', async () => {
  const guide = guideOver('engine');
  for await (const event of guide.agent.stream('survey this repository', context)) {
    if (event.type === 'tool.call' && event.call.name === 'list_files') break;
  }
  const { text } = await guide.agent.call('go on', context);
  expect(text).toMatch(/^The survey is done: 1 areas with 3 lines/);
});

describe('a conversation whose survey was stopped', () => {
  /** Stopped while the guide decides after its first calls, so that nothing in the conversation says so. */
  async function stopped(area: string) {
    const place = mkdtempSync(join(tmpdir(), 'x-guide-'));
    onTestFinished(() => rmSync(place, { recursive: true, force: true, maxRetries: 20 }));
    mkdirSync(join(place, 'repo', area), { recursive: true });
    for (const file of ['a.ts', 'b.ts', 'c.ts']) writeFileSync(join(place, 'repo', area, file), 'let a;\n');
    writeFileSync(join(place, 'repo/README.md'), 'One.\nTwo.\n');
    const counter = tiktokenCounter();
    const guide = new GuideModel({ contextWindow: 16_000, counter });
    let steps = 0;
    const model: Model = {
      id: guide.id,
      contextWindow: guide.contextWindow,
      generate: (request) =>
        ++steps === 4
          ? new Promise((_, reject) =>
              request.signal?.addEventListener('abort', () => reject(request.signal?.reason)),
            )
          : guide.generate(request),
    };
    const demo = createAgent({ model, embedded: true, data: join(place, 'data'), repo: join(place, 'repo') });
    onTestFinished(() => demo.agent.close());
    const backend = new Backend({ demo, counter, info });
    const ended = async (calls: number) => {
      await expect
        .poll(async () =>
          (await transcriptOf(backend, 's')).events.filter(({ type }) => type === 'call.completed'),
        )
        .toHaveLength(calls);
      await expect.poll(async () => (await transcriptOf(backend, 's')).running).toBe(false);
      return transcriptOf(backend, 's');
    };
    const say = async (text: string, calls: number) => {
      await backend.send('s', text);
      const { messages } = await ended(calls);
      return [...messages.values()].flatMap((message) =>
        message.role === 'assistant' ? [textOf(message)] : [],
      );
    };
    await backend.send('s', 'survey this repository');
    await expect.poll(() => steps).toBe(4);
    await backend.stop('s');
    await ended(1);
    return { backend, say, place };
  }

  it('answers a question, and restarts nothing by itself', async () => {
    const { say } = await stopped('engine');
    const answers = await say('How many stores?', 2);
    expect(answers.at(-1)).toMatch(SENTENCE);
    expect(answers.at(-1)).not.toContain('go on with the survey');
  });

  it.each(['survey this repository', 'go on'])('finishes the survey when asked to: %s', async (words) => {
    const { say, place } = await stopped('engine');
    const answers = await say(words, 2);
    expect(answers.filter((text) => text.startsWith('I will survey'))).toHaveLength(1);
    // The answer has the number of the report, too: the README is in no area.
    expect(answers.at(-1)).toMatch(/^The survey is done: 1 areas with 3 lines, of 5 in the repository\./);
    const report = readFileSync(join(place, 'data/workspace/REPORT.md'), 'utf8');
    expect(report).toContain('The repository has 4 files with 5 lines.');
  });

  it('writes a file that the user names', async () => {
    const { backend, say } = await stopped('engine');
    const answers = await say('write ideas.md: one', 2);
    expect(answers.at(-1)).toBe('I will write that to ideas.md.');
    const { pending } = await transcriptOf(backend, 's');
    expect(pending).toMatchObject([{ name: 'write_file', input: { path: 'ideas.md', content: 'one\n' } }]);
  });
});

it('says once what it looks at first', async () => {
  const guide = guideOver('engine');
  await surveyed(guide);
  const said = await saidBy(guide.agent);
  expect(said.filter((text) => text.startsWith('First an overview'))).toHaveLength(1);
});

it('quotes names of the repository for the shell', async () => {
  const guide = guideOver("it's$(touch${IFS}pwned)");
  expect((await surveyed(guide)).text).toContain('The survey is done');
  expect(existsSync(join(guide.place, 'repo/pwned'))).toBe(false);
});

it('asks before it writes a file that the user names', async () => {
  const { agent } = guideOver();
  const { stopReason, pendingCalls } = await agent.call('write ideas.md: look at the stores first', context);
  expect(stopReason).toBe('permission_required');
  expect(pendingCalls).toMatchObject([
    { name: 'write_file', input: { path: 'ideas.md', content: 'look at the stores first\n' } },
  ]);
  const decisions = { [pendingCalls[0]?.approvalId ?? '']: { type: 'deny' } as const };
  // What the model is told of a denial is not for people.
  expect((await agent.resume(context, { decisions })).text).toBe(
    'I did not write ideas.md: the call above says why.',
  );
});

it('says as code which file it wrote, so that the page links it', async () => {
  const { agent } = guideOver();
  const { pendingCalls: calls } = await agent.call('write ideas.md: look at the stores first', context);
  const decisions = { [calls[0]?.approvalId ?? '']: { type: 'approve' } as const };
  expect((await agent.resume(context, { decisions })).text).toMatch(/^Done\. Created `ideas\.md` \(/);
});

it('acknowledges a denial when the user says why', async () => {
  const { agent } = guideOver();
  const { pendingCalls: calls } = await agent.call('write ideas.md: look at the stores first', context);
  const decisions = { [calls[0]?.approvalId ?? '']: { type: 'deny', reason: 'Not now.' } as const };
  const { text } = await agent.call('Not now.', context, { decisions });
  expect(text).toBe('I left that call out, because you denied it.');
});

it('says how a survey continues after the user denied a call in it', () => {
  const todos = '[x] Orient myself: top level, manifest, README, areas, size\n[>] Survey engine';
  const call = { id: 'c', name: 'write_file', input: { path: 'later.md', content: 'hello\n' } };
  const messages = [
    userMessage('write later.md: hello'),
    assistantMessage([{ type: 'tool_use', ...call }]),
    toolResultMessage(call, 'The user denied this call: Not now.'),
    userMessage('Not now.', { metadata: { startsCall: true } }),
    userMessage(todos, { kind: 'synthetic' }),
  ];
  expect(decide(readView({ messages, tools: [] }))).toEqual({
    text: 'I left that call out, because you denied it. To continue the survey, say “go on”.',
    calls: [],
  });
});

it('does not count build output without git', async () => {
  const guide = guideOver('engine', 'engine/dist/js', 'build');
  expect((await surveyed(guide)).text).toMatch(/^The survey is done: 1 areas with 3 lines, of 3 in/);
});

it('does not begin a finished survey again when its answer was compacted away', () => {
  const todos = '[x] Orient myself: top level, manifest, README, areas, size';
  const messages = [
    userMessage('The survey is done.', { kind: 'summary' }),
    userMessage('thanks'),
    userMessage(todos, { kind: 'synthetic' }),
  ];
  expect(decide(readView({ messages, tools: [] }))).toMatchObject({
    calls: [],
    text: expect.stringMatching(SENTENCE),
  });
});

describe('what is said right before a compaction, which puts its record after it', () => {
  const orient = '[x] Orient myself: top level, manifest, README, areas, size';
  const record = [
    '» r1 survey this repository',
    '- r2 I will survey this repository',
    '* r2 todo_write (list)',
  ];
  const done = [...record, '- r8 The survey is done: 1 areas.'];
  const decided = (request: string, todos: string, lines: readonly string[]) =>
    decide(
      readView({
        messages: [
          userMessage('survey this repository'),
          userMessage(request),
          userMessage([...lines, '[/CONVERSATION_SUMMARY]'].join('\n'), { kind: 'summary' }),
          userMessage(todos, { kind: 'synthetic' }),
        ],
        tools: [],
      }),
    );

  it('is answered, not the survey again, when the survey is finished', () => {
    const answer = decided('How many stores?', orient, [...done, '» r9 How many stores?']);
    expect(answer).toMatchObject({ calls: [], text: expect.stringMatching(SENTENCE) });
    expect(answer.text).not.toContain('survey is done');
  });

  it('is answered during a survey, once, and the survey goes on', () => {
    const todos = `${orient}\n[>] Survey engine`;
    const asked = [...record, '» r9 How many stores?'];
    const answer = decided('How many stores?', todos, asked);
    expect(answer.text).toMatch(/I go on with the survey\.$/);
    expect(answer.calls.length).toBeGreaterThan(0);
    const next = decided('How many stores?', todos, [...asked, '- r10 I cannot answer that', '· r10 ls']);
    expect(next.text).not.toMatch(SENTENCE);
  });

  it('does not replace the end of the survey, also when the record dropped the calls before it', () => {
    const asked = [...record.slice(0, 2), '» r9 How many stores?', '- r10 I cannot answer that', '· r10 ls'];
    for (const todos of [orient, `${orient}\n[>] Survey engine`]) {
      const { text, calls } = decided('How many stores?', todos, asked);
      expect(text).not.toMatch(SENTENCE);
      expect(calls.length).toBeGreaterThan(0);
    }
  });

  it('is done when it is a file to write', () => {
    const write = 'write ideas.md: look at the stores first';
    const asked = [...done, `» r9 ${write}`];
    expect(decided(write, orient, asked).calls).toMatchObject([{ name: 'write_file' }]);
    const working = [...asked, '- r10 I will write that', '* r10 write_file ideas.md'];
    expect(decided(write, orient, working).text).not.toContain('survey');
  });

  it('begins no second survey while the first one works', () => {
    expect(
      decided('survey this repository', orient, [...record, '» r9 survey this repository']).calls,
    ).toMatchObject([{ name: 'todo_write' }]);
    const working = [
      ...record,
      '» r9 survey this repository',
      '- r10 Comparing the areas.',
      '· r10 grep_files',
    ];
    expect(decided('survey this repository', orient, working).text).toBe('Checking the report once more.');
  });
});

it('surveys again when asked again', () => {
  const todos = userMessage('[x] Orient myself: top level, manifest, README, areas, size', {
    kind: 'synthetic',
  });
  const messages = [assistantMessage('Done.'), userMessage('survey this repository'), todos];
  expect(decide(readView({ messages, tools: [] })).calls).toMatchObject([{ name: 'todo_write' }]);
});

/** A survey that is at `engine`, whose figures are in a record, in a search of the log, or nowhere. */
function atEngine(record: readonly string[], found?: string) {
  const todos = '[x] Orient myself: top level, manifest, README, areas, size\n[>] Survey engine';
  const recall = {
    id: 'c',
    name: 'recall',
    input: { query: 'engine files, lines, tests, exports, largest' },
  };
  const looked = [
    assistantMessage([{ type: 'tool_use', ...recall }]),
    toolResultMessage(recall, found ?? ''),
  ];
  return decide(
    readView({
      messages: [
        userMessage('survey this repository'),
        userMessage(['» r1 survey this repository', ...record].join('\n'), { kind: 'summary' }),
        ...(found === undefined ? [] : looked),
        userMessage(todos, { kind: 'synthetic' }),
      ],
      tools: [],
    }),
  );
}

const FOUND = 'engine: 3 files, 9 lines, 0 tests, 2 exports, largest engine/a.ts with 4.';

it('goes on from the record of what was removed, says so in one line, and begins nothing again', () => {
  const { text, calls } = atEngine([`- r9 ${FOUND}`, '· r7 list_files repo/engine']);
  expect(text).toBe(`Going on at engine from the record. ${FOUND}`);
  expect(calls.map(({ name }) => name)).toEqual(['read_file']);
});

it('looks up what the record only names, and goes on from there', () => {
  const { text, calls } = atEngine(['· r7 list_files repo/engine ;; r9 read_file repo/engine/a.ts']);
  expect(text).toBe('The record says that I began with engine. Looking up what I found.');
  expect(calls).toMatchObject([{ name: 'recall' }]);
  const found = atEngine(['· r7 list_files repo/engine'], `r9 assistant\n${FOUND}`);
  expect(found.text).toBe(`Going on at engine from the record. ${FOUND}`);
  expect(atEngine(['· r7 list_files repo/engine'], 'No passage.').text).toBe('Looking at engine.');
});

it('takes nothing from the record of an earlier survey, or of another area', () => {
  const again = [`- r9 ${FOUND}`, '» r40 survey this repository'];
  expect(atEngine(again).text).toBe('Looking at engine.');
  expect(atEngine([`- r9 other-${FOUND}`, '· r7 list_files repo/engine/x']).text).toBe('Looking at engine.');
});

it('cuts the first paragraph of a README between words', () => {
  const about = readme.read(
    `[README.md, lines 1 to 60]\n# Title\n\n${'Packages for agents that run. '.repeat(20)}`,
  );
  expect(about).toMatch(/ (?:Packages|for|agents|that|run\.) …$/);
});
