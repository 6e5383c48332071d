import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import {
  type AgentEvent,
  countRequest,
  type Model,
  type ModelRequest,
  RuntimeContext,
  SessionKey,
  storageOf,
  textOf,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import type { HarnessAgent } from '@x/harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HarnessBackend } from '../src/backend/harness-backend.js';
import { AGENT, createAgent } from '../src/create-agent.js';
import { GuideModel } from '../src/guide/guide-model.js';
import { info } from './backend/info.js';
import { copyOfRepository, figuresOf, root } from './repository.js';

const PROMPT = 'survey this repository';
const WINDOW = 16_000;
const context = RuntimeContext.of({ sessionId: 's' });

/** Only against what hangs: a survey takes seconds, many of them on a busy machine. */
const TIMEOUT = 600_000;

let copies: string;
let repo: string;
beforeAll(() => {
  copies = mkdtempSync(join(tmpdir(), 'x-demo-repository-'));
  repo = copyOfRepository(copies);
});
afterAll(() => rmSync(copies, { recursive: true, force: true, maxRetries: 20 }));

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'x-demo-'));
});
/** What a test opened, closed before its files go. */
let agents: HarnessAgent[] = [];
afterEach(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  agents = [];
  rmSync(data, { recursive: true, force: true, maxRetries: 20 });
});

function openAgent(model: Model): HarnessAgent {
  const { agent } = createAgent({ model, embedded: true, data, repo });
  agents.push(agent);
  return agent;
}

function report(): string {
  return readFileSync(join(data, 'workspace/REPORT.md'), 'utf8');
}

/** Every figure of the report, against the repository itself. */
function expectTrueReport(text: string): void {
  const whole = figuresOf(repo);
  expect(text).toContain(`The repository has ${whole.files} files with ${whole.lines} lines.`);
  const sections = [...text.matchAll(/^Figures for (\S+): (\d+) files, (\d+) lines/gm)];
  expect(sections.length).toBeGreaterThanOrEqual(10);
  for (const [, area = '', files, lines] of sections) {
    expect({ area, files: Number(files), lines: Number(lines) }).toEqual({ area, ...figuresOf(repo, area) });
  }
  expect(text).toContain('## Conclusions');
  expect(text).not.toContain('<!-- survey:');
}

describe('the survey through a window of 16 000 tokens', () => {
  it('is finished, with true figures, over several compactions and without getting lost', {
    timeout: TIMEOUT,
  }, async () => {
    const counter = tiktokenCounter();
    const requests: ModelRequest[] = [];
    const guide = new GuideModel({ contextWindow: WINDOW, counter });
    const model: Model = {
      id: guide.id,
      contextWindow: WINDOW,
      generate(request) {
        requests.push(request);
        return guide.generate(request);
      },
    };
    const agent = openAgent(model);
    const events: AgentEvent[] = [];
    for await (const event of agent.stream(PROMPT, context)) events.push(event);
    const of = <Type extends AgentEvent['type']>(type: Type) =>
      events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type);

    expect(of('call.completed')).toMatchObject([{ stopReason: 'completed' }]);
    expectTrueReport(report());

    const calls = of('tool.call').map(({ call }) => call);
    expect(calls.length).toBeGreaterThan(60);
    expect(of('tool.evicted').length).toBeGreaterThanOrEqual(1);
    const compactions = of('context.compacted').filter(({ status }) => status === 'applied').length;
    expect(compactions).toBeGreaterThanOrEqual(3);

    // Whoever forgets where it was does things again. In the area that it is in, a compaction may take what it knew so
    // far, six answers at most; to an area that is done it never returns.
    const signatures = calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`);
    const repeated = signatures.length - new Set(signatures).size;
    expect(repeated).toBeLessThanOrEqual(6 * compactions);
    const listed = signatures.filter((signature) => signature.startsWith('list_files '));
    const visits = listed.filter((signature, index) => signature !== listed[index - 1]);
    expect(visits.length).toBeGreaterThanOrEqual(10);
    expect(new Set(visits).size).toBe(visits.length);

    for (const request of requests) {
      expect(countRequest(counter, request)).toBeLessThanOrEqual(WINDOW);
      const asked = request.messages.flatMap(toolUsesOf).map(({ id }) => id);
      const answered = request.messages.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId);
      expect(answered).toEqual(asked);
    }
  });

  it('can be asked about afterwards', { timeout: TIMEOUT }, async () => {
    const model = new GuideModel({ contextWindow: WINDOW, counter: tiktokenCounter() });
    const agent = openAgent(model);
    await agent.call(PROMPT, context);
    const first = await agent.call('How many lines has packages/testkit?', context);
    expect(first.text).toContain(String(figuresOf(repo, 'packages/testkit').lines));
    const second = await agent.call('Which kinds of files are there, by extension?', context);
    expect(second.text).toMatch(/ts \d+/);
    const third = await agent.call('Who painted the Mona Lisa?', context);
    expect(third.text).toContain('rule-based guide');
  });
});

describe('npm start -- --once', () => {
  const start = (
    prompt = PROMPT,
  ): { child: ChildProcess; output: () => string; ended: Promise<number | null> } => {
    const args = ['--conditions=@x/source', '--import', 'tsx', join(root, 'apps/demo/src/main.ts')];
    const env = { ...process.env, OPENAI_API_KEY: '', OPENAI_BASE_URL: '', ANTHROPIC_API_KEY: '' };
    const child = spawn(process.execPath, [...args, '--once', prompt, '--data', data, '--repo', repo], {
      env,
      cwd: root,
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    return { child, output: () => output, ended: new Promise((resolve) => child.once('close', resolve)) };
  };

  it('resumes at its last checkpoint after kill -9, and finishes', { timeout: TIMEOUT }, async () => {
    const first = start();
    await new Promise<void>((resolve, reject) => {
      first.child.stdout?.on('data', () => /^ 40 {2}/m.test(first.output()) && resolve());
      first.child.once('close', () =>
        reject(new Error(`It ended before it could be killed: ${first.output()}`)),
      );
    });
    first.child.kill('SIGKILL');
    await first.ended;
    const session = /Session (\S+)/.exec(first.output())?.[1];
    expect(session).toBeDefined();

    const second = start();
    expect(await second.ended, second.output()).toBe(0);
    expect(second.output()).toContain(`Resuming session ${session} at its last checkpoint.`);
    expectTrueReport(report());
    // It went on; it did not begin again.
    const calls = (text: string) => (text.match(/^ *\d+ {2}\S+ tokens/gm) ?? []).length;
    expect(calls(first.output())).toBeGreaterThanOrEqual(40);
    const key = SessionKey.of({ agentId: AGENT, sessionId: session ?? '' });
    const said: string[] = [];
    for await (const message of new WorkspaceSessionLog(
      storageOf(new LocalWorkspace(join(data, 'workspace'))),
      key,
    ).read()) {
      if (message.role === 'assistant') said.push(textOf(message));
    }
    expect(said.filter((text) => text.startsWith('I will survey'))).toHaveLength(1);
    expect(said.at(-1)).toMatch(/^The survey is done/);

    // The page shows it as one of its own: how the window filled, and every compaction.
    const counter = tiktokenCounter();
    const model = new GuideModel({ contextWindow: WINDOW, counter });
    const demo = createAgent({ model, embedded: true, data, repo });
    agents.push(demo.agent);
    const { transcript } = await new HarnessBackend({ demo, counter, info }).transcript(session ?? '');
    expect(transcript.totals.modelCalls).toBeGreaterThan(40);
    expect(transcript.context?.total).toBeLessThanOrEqual(WINDOW);
    expect(transcript.entries.filter(({ type }) => type === 'compaction').length).toBeGreaterThan(3);
  });

  it('says what is wrong with its arguments, and exits 1', async () => {
    const args = [
      '--conditions=@x/source',
      '--import',
      'tsx',
      join(root, 'apps/demo/src/main.ts'),
      '--port',
      'x',
    ];
    const child = spawn(process.execPath, args, { cwd: root });
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(1);
    expect(output).toMatch(/Invalid settings: port: .*--help/);
    expect(output).not.toContain('    at ');
  });
});

it('answers small questions at once', async () => {
  const model = new GuideModel({ contextWindow: WINDOW, counter: tiktokenCounter() });
  const agent = openAgent(model);
  const size = await agent.call('How many files and lines has packages/testkit?', context);
  const { files, lines } = figuresOf(repo, 'packages/testkit');
  expect(size.text).toContain(`packages/testkit has ${files} files with ${lines} lines`);
  const place = await agent.call('Where is openSession defined?', context);
  expect(place.text).toContain('packages/core/src/sessions/session.ts:');
});

it('is an honest label', async () => {
  const model = new GuideModel({ contextWindow: WINDOW, counter: tiktokenCounter() });
  const agent = openAgent(model);
  const reply = await agent.call('help', context);
  expect(textOf(reply.message ?? [])).toContain('no language model');
});
