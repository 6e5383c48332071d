import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import {
  type AgentEvent,
  compactionCostOf,
  type Model,
  type ModelRequest,
  RuntimeContext,
  SessionKey,
  storageOf,
  textOf,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';
import { countRequest } from '@x/core/messages';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { type HarnessAgent, spendingOf } from '@x/harness';
import { savingsInWords, shortNumber } from '@x/harness/view';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { bundled } from '../../../tooling/bundled.js';
import { costLines } from '../../cli/src/session-events.js';
import { Backend } from '../src/backend/backend.js';
import { AGENT, createAgent } from '../src/create-agent.js';
import { GuideModel } from '../src/guide/guide-model.js';
import { textOf as wordsOf } from '../src/page.js';
import { createServer } from '../src/server/server.js';
import { info } from './backend/info.js';
import { copyOfRepository, exportsOf, figuresOf, root } from './repository.js';
import { transcriptOf } from './transcript.js';
import { launch, textIn } from './web/browse.js';

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

function report(of = data): string {
  return readFileSync(join(of, 'workspace/REPORT.md'), 'utf8');
}

/** Every figure of the report, against the repository itself. */
function expectTrueReport(text: string): void {
  const whole = figuresOf(repo);
  expect(text).toContain(`The repository has ${whole.files} files with ${whole.lines} lines.`);
  const sections = [
    ...text.matchAll(/^Figures for (\S+): (\d+) files, (\d+) lines, \d+ tests, (\d+) exports/gm),
  ];
  expect(sections.length).toBeGreaterThanOrEqual(10);
  for (const [, area = '', files, lines, exports] of sections) {
    expect({ area, files: Number(files), lines: Number(lines) }).toEqual({ area, ...figuresOf(repo, area) });
    expect({ area, exports: Number(exports) }).toEqual({ area, exports: exportsOf(repo, area) });
  }
  expect(text).toContain('## Conclusions');
  expect(text).not.toContain('<!-- survey:');
  // Of a listing that was too long for the window, its names alone; hidden directories are not areas.
  expect(text).not.toMatch(/The result of list_files|^## [.]/m);
}

describe('the survey through a window of 16 000 tokens', () => {
  const counter = tiktokenCounter();
  const requests: ModelRequest[] = [];
  const events: AgentEvent[] = [];
  let surveyed: string;
  let agent: HarnessAgent;
  let backend: Backend;

  beforeAll(async () => {
    surveyed = mkdtempSync(join(tmpdir(), 'x-demo-surveyed-'));
    const guide = new GuideModel({ contextWindow: WINDOW, counter });
    const model: Model = {
      id: guide.id,
      contextWindow: WINDOW,
      generate(request) {
        requests.push({ ...request, messages: [...request.messages] });
        return guide.generate(request);
      },
    };
    const demo = createAgent({
      model,
      embedded: true,
      data: surveyed,
      repo,
    });
    ({ agent } = demo);
    const { triggerTokens } = demo;
    const about = { model: { id: guide.id, embedded: true }, contextWindow: WINDOW, triggerTokens };
    backend = new Backend({ demo, counter, info: { ...info, ...about } });
    for await (const event of agent.stream(PROMPT, context)) events.push(event);
  }, TIMEOUT);
  afterAll(async () => {
    await agent.close();
    rmSync(surveyed, { recursive: true, force: true, maxRetries: 20 });
  });

  it('is finished, with true figures, over several compactions and without getting lost', () => {
    const of = <Type extends AgentEvent['type']>(type: Type) =>
      events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type);

    expect(of('call.completed')).toMatchObject([{ stopReason: 'completed' }]);
    expectTrueReport(report(surveyed));

    const calls = of('tool.call').map(({ call }) => call);
    expect(calls.length).toBeGreaterThan(60);
    expect(of('tool.evicted').length).toBeGreaterThanOrEqual(1);
    const compactions = of('context.compacted').filter(({ status }) => status === 'applied').length;
    expect(compactions).toBeGreaterThanOrEqual(3);

    // Whoever forgets where it was does things again.
    const signatures = calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`);
    const visits = signatures.filter((signature) => signature.startsWith('list_files '));
    expect(visits.length).toBeGreaterThanOrEqual(10);
    expect(new Set(visits).size).toBe(visits.length);
    const repeated = signatures.length - new Set(signatures).size;
    expect(repeated).toBeLessThanOrEqual(compactions);

    for (const request of requests) {
      expect(countRequest(counter, request)).toBeLessThanOrEqual(WINDOW);
      const asked = request.messages.flatMap(toolUsesOf).map(({ id }) => id);
      const answered = request.messages.flatMap(toolResultsOf).map(({ toolUseId }) => toolUseId);
      expect(answered).toEqual(asked);
    }
  });

  it('fills the memory with what it learned, a line for each area', async () => {
    const files = await backend.files();
    // The survey reads files, so what it learned is unconfirmed until a person confirms it: a note, not yet a fact.
    const { path = '' } = files.find((file) => file.isMemory && file.path.includes('/memory/')) ?? {};
    const { text } = await backend.readFile(path);
    const areas = [...report(surveyed).matchAll(/^Figures for (\S+): (\d+) files, (\d+) lines/gm)];
    for (const [, area, files, lines] of areas)
      expect(text).toContain(`${area} has ${files} files with ${lines} lines.`);
  });

  it('is rebuilt request by request from log and events, as the model was sent it', async () => {
    const transcript = await transcriptOf(backend, 's');
    expect(transcript.places.at(-1)?.request).toBe(requests.length);
    const placeOf = (step: number) => transcript.places.findIndex(({ request }) => request === step) + 1;
    for (const step of [1, 2, Math.floor(requests.length / 2), requests.length - 1, requests.length]) {
      const sent = requests[step - 1]?.messages.filter(({ kind }) => kind !== 'synthetic') ?? [];
      const shown = await backend.request('s', placeOf(step));
      expect(shown.messages.map(({ id }) => id)).toEqual(sent.map(({ id }) => id));
      expect(shown.messages.map(({ text }) => text)).toEqual(sent.map(wordsOf));
      // Right after a compaction nothing is new.
      if (transcript.places[placeOf(step) - 2]?.compaction) continue;
      const before = requests[step - 2]?.messages.map(({ id }) => id) ?? [];
      const added = shown.messages.filter(({ change }) => change === 'added').map(({ id }) => id);
      expect(added).toEqual(sent.map(({ id }) => id).filter((id) => !before.includes(id)));
    }
    await expect(backend.request('s', transcript.places.length + 1)).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('counts each message that is gone once, over all compactions and in the receipt', async () => {
    const { compactions, fates } = await transcriptOf(backend, 's');
    const receipt = await backend.receipt('s');
    expect(fates.size).toBe(receipt?.gone);
    const sum = compactions.reduce((count, { manifest }) => count + manifest.length, 0);
    expect(sum, 'this survey only summarizes, each message once').toBe(receipt?.gone);
  });

  it('has the same figures in the terminal as on the page', async () => {
    const { usage, savings, events: kept } = await transcriptOf(backend, 's');
    const state = await agent.state(context);
    if (!state) throw new Error('There is no session.');
    const { inputTokens, outputTokens } = usage;
    expect(spendingOf(state).tokens).toBe(inputTokens + outputTokens);
    expect(compactionCostOf(state).savedTokens).toBe(savings.unreduced - savings.sent);
    expect(costLines({ state, events: kept })).toEqual([
      savingsInWords(savings),
      expect.stringContaining(`saved ${shortNumber(savings.unreduced - savings.sent)} tokens`),
      expect.stringMatching(
        `^all model calls: ${shortNumber(inputTokens + outputTokens)} tokens, input and output`,
      ),
    ]);
  });

  it('answers what is asked next with one honest sentence, also when that call compacts first', async () => {
    const asked = `Where is this from? ${'a stack trace '.repeat(1_000)}`;
    let types: string[] = [];
    // The survey may end with a nearly empty window, so several questions may fit before one compacts.
    for (let question = 0; question < 6 && !types.includes('context.compacted'); question++) {
      types = [];
      let text = '';
      for await (const event of agent.stream(asked, RuntimeContext.of({ sessionId: 's' }))) {
        if (['context.compacted', 'model.started'].includes(event.type)) types.push(event.type);
        if (event.type === 'call.completed') text = event.text;
      }
      expect(text).toMatch(/^I cannot answer that, /);
    }
    expect(types).toEqual(['context.compacted', 'model.started']);
  });

  it('answers five questions on the page, each within two clicks', { timeout: TIMEOUT }, async () => {
    const server = createServer({ backend, webRoot: inject('webRoot'), port: 0 });
    const browser = await launch();
    try {
      const url = await server.listen();
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
      const open = async () => {
        await page.goto('about:blank');
        await page.goto(`${url}#/s/s`);
        await page.locator('.user-turn').first().waitFor();
      };
      const region = (name: string | RegExp) => page.getByRole('region', { name });

      // What did it save? It stands on top, and leads to how it is counted.
      await open();
      const saved = page.locator('.worth');
      const words =
        /^Without compaction: [\d.]+[kM] tokens in \d+ requests; the window is full at request \d+\. With compaction: [\d.]+[kM] tokens, never full\.$/;
      await expect.poll(() => textIn(saved)).toMatch(words);
      await saved.click();
      await expect.poll(() => textIn(region('Cost and savings'))).toContain('counts as it was sent');
      const counted = await textIn(region('Cost and savings'));
      expect(counted).toContain('Tokens in, reported for all calls');
      expect(counted).toMatch(/requests are estimated,\s+and model calls for the memory are left out\./);

      // What is gone?
      await open();
      await page.getByRole('button', { name: /^Last compaction: \d+ / }).click();
      await page.getByRole('heading', { name: /^What the model no longer sees/ }).waitFor();
      await expect.poll(() => page.locator('.compaction .request-row').count()).toBeGreaterThan(0);

      await open();
      await page.getByRole('button', { name: 'What is gone' }).click();
      await page
        .getByText(/^The model no longer sees [\d ,]+ of [\d ,]+ messages\. The log has all of them\./)
        .waitFor();

      // What did the model see at step 120, or thereabouts in a repository with fewer areas?
      const { places } = await transcriptOf(backend, 's');
      const isFresh = (step: number) =>
        !places[places.findIndex(({ request }) => request === step) - 1]?.compaction;
      let step = Math.min(120, requests.length - 5);
      while (!isFresh(step)) step--;
      await open();
      await page.getByRole('spinbutton', { name: 'Request' }).fill(String(step));
      const newest = requests[step - 1]?.messages.findLast(({ kind }) => kind !== 'synthetic');
      const [result] = newest?.content ?? [];
      const answered = result?.type === 'tool_result' ? `Result: ${result.toolName}` : '?';
      await expect.poll(() => textIn(region(`Request ${step}`))).toContain(answered);

      // Why was this removed?
      await open();
      await page.locator('.fate-tag').last().click();
      await expect.poll(() => textIn(page.locator('.facts').last())).toContain('The window was nearly full');

      // What did it cost? It stands beside the conversation.
      await open();
      const cost = region('Cost and savings');
      await expect.poll(() => textIn(cost)).toContain('none: no LLM');
      await expect.poll(() => textIn(cost)).toContain(`${requests.length}`);
    } finally {
      await browser.close();
      await server.close();
    }
  });
});

/** Starts the demo in a process of its own. `output` is what it wrote so far, to either stream. */
function startDemo(...args: string[]) {
  const env = { ...process.env, OPENAI_API_KEY: '', OPENAI_BASE_URL: '', ANTHROPIC_API_KEY: '' };
  const program = bundled(join(root, 'apps/demo/src/main.ts'));
  const child = spawn(process.execPath, [program, '--data', data, ...args], { cwd: root, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, output: () => output, ended };
}

describe('npm start -- --once', () => {
  const start = () => startDemo('--once', PROMPT, '--repo', repo);

  it('resumes at its last checkpoint after kill -9, and finishes', { timeout: TIMEOUT }, async () => {
    const calls = (text: string) => (text.match(/^● /gm) ?? []).length;
    const first = start();
    await new Promise<void>((resolve, reject) => {
      first.child.stdout?.on('data', () => calls(first.output()) >= 40 && resolve());
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
    expect(second.output()).toContain(`Wrote ${relative(root, join(data, 'workspace/REPORT.md'))}`);
    expect(second.output()).toContain(`Resuming session ${session} at its last checkpoint.`);
    expectTrueReport(report());
    // It went on; it did not begin again.
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
    const transcript = await transcriptOf(new Backend({ demo, counter, info }), session ?? '');
    expect(transcript.modelCalls).toBeGreaterThan(40);
    expect(transcript.places.at(-1)?.context.total).toBeLessThanOrEqual(WINDOW);
    expect(transcript.compactions.length).toBeGreaterThan(3);
  });

  it('says what is wrong with its arguments, and exits 1', async () => {
    const { ended, output } = startDemo('--port', 'x');
    expect(await ended).toBe(1);
    expect(output()).toMatch(/Invalid settings: port: .*--help/);
    expect(output()).not.toContain('    at ');
  });

  it.each([
    ['0.0.0.0', true],
    ['127.0.0.1', false],
  ])('warns of an address in the network without TLS: %s', async (host, warns) => {
    const { child, ended, output } = startDemo('--host', host, '--port', '0');
    child.stdout.on('data', () => output().includes('Open http') && child.kill());
    await ended;
    expect(output().includes('It has no TLS: others in this network can read the token.')).toBe(warns);
  });

  it('says that another start has the same data, and that a page follows only its own server', async () => {
    const begun: ReturnType<typeof startDemo>[] = [];
    const begin = (port: string) => {
      const demo = startDemo('--port', port);
      begun.push(demo);
      return demo;
    };
    const end = ({ child, ended }: ReturnType<typeof startDemo>) => child.kill() && ended;
    const address = ({ output }: ReturnType<typeof startDemo>) =>
      /Open (http\S+?)\/\?/.exec(output())?.[1] ?? '';
    try {
      const first = begin('0');
      await expect.poll(() => address(first), { timeout: TIMEOUT }).not.toBe('');
      const again = begin(new URL(address(first)).port);
      expect(await again.ended).toBe(1);
      const words = `The demo at ${address(first)} already runs with this data folder. Use that one: a page does not show what happens through another server until it is reloaded.`;
      expect(again.output()).toContain(words);
      const beside = begin('0');
      await expect.poll(() => address(beside), { timeout: TIMEOUT }).not.toBe('');
      expect(beside.output()).toContain(words);
      await end(beside);
      first.child.kill('SIGKILL');
      await first.ended;
      const after = begin('0');
      await expect.poll(() => address(after), { timeout: TIMEOUT }).not.toBe('');
      expect(after.output()).not.toContain('data folder');
      await end(after);
    } finally {
      for (const { child } of begun) child.kill('SIGKILL');
    }
  });

  it('says in a sentence that its port is taken', async () => {
    const server = createNetServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { ended, output } = startDemo('--port', String(port));
    expect(await ended).toBe(1);
    server.close();
    expect(output()).toContain(`port ${port} is already in use. Choose another with --port`);
    expect(output()).not.toContain('    at ');
  });
});
