import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { KEY_REFUSED } from '../../src/page.js';
import { createServer } from '../../src/server/server.js';
import { chat, longSession, outage, survey } from '../fake-backend/scenarios.js';
import { evaluate, launch, shareInView, textIn, type Visit, visit } from './browse.js';

let browser: Browser;
let v: Visit;

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());
beforeEach(async () => {
  v = await visit(browser);
});
afterEach(() => v.close());

const question = 'How does a compaction work?';
/** In the conversation, not in the words for screen readers. */
const said = (words: string) => v.page.locator('.conversation-content').getByText(words);
/** As a browser does it to the tabs behind; Playwright shows all of them. */
const setVisible = (page: Page, state: 'visible' | 'hidden') =>
  page.evaluate(`
    Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  `);
const focused = () => evaluate<string>(v.page, 'document.activeElement.ariaLabel');
const ending = 'Whatever goes is in the manifest';

describe('a conversation', () => {
  it('begins with a promise and one button, and says who answers', async () => {
    await v.open();
    await v.page.getByRole('heading', { name: 'Agents that run for hours in a 24k window.' }).waitFor();
    await expect.poll(() => v.page.locator('.empty .button-main').count()).toBe(1);
    await expect.poll(() => textIn(v.page.locator('.composer'))).toContain('embedded guide: rules, no LLM');
    expect(await textIn(v.page.locator('body'))).not.toMatch(/\d+\.\d+\.\d+|\w+\/\w+\//);
    await v.page.getByRole('button', { name: 'Survey this repository' }).click();
    await expect.poll(focused).toBe('End of the conversation');
    await said('This is a monorepo').waitFor();
    expect(v.complaints).toEqual([]);
  });

  it('streams an answer in place, and gives its figures at the end', async () => {
    await v.open();
    v.backend.hold('mid-stream');
    const composer = v.page.getByRole('textbox', { name: 'Message' });
    await composer.fill(question);
    await v.enter();
    await v.page.locator('.agent-turn[aria-busy="true"] .markdown strong', { hasText: 'cascade' }).waitFor();
    await expect.poll(() => composer.inputValue()).toBe('');
    await expect.poll(() => said(ending).count()).toBe(0);
    const before = await v.page.locator('.agent-turn .markdown').boundingBox();

    v.backend.release('mid-stream');
    await said(ending).waitFor();
    await v.page.locator('.agent-turn[aria-busy="false"] .reply-figures').waitFor();
    const after = await v.page.locator('.agent-turn .markdown').boundingBox();
    expect(after?.y).toBe(before?.y);
    await expect
      .poll(() => textIn(v.page.locator('.reply-figures')))
      .toMatch(/in .*· .* out · .* of model time/);
    expect(v.complaints).toEqual([]);
  });

  it('gives the figures of a whole reply once, also when a compaction stands within it', async () => {
    v.backend.seed('s', function* (stage) {
      yield* stage.begin('Look around');
      const calls = ['a.ts', 'b.ts', 'c.ts'].map((path) => ({
        name: 'read_file',
        input: { path },
        output: 'export {};\n'.repeat(200),
      }));
      yield* stage.work('First.', calls);
      yield* stage.work('Second.', calls);
      const saved = { status: 'applied', keepToolOutputs: 1, message: 'Masked.' } as const;
      yield* stage.compact({ reason: 'proactive_budget', ...saved });
      yield* stage.answer('That was all.');
      yield* stage.end();
    });
    await v.open('s');
    await said('That was all.').waitFor();
    await expect
      .poll(() => v.page.locator('.reply-figures').allInnerTexts())
      .toEqual([expect.stringMatching(/^3 model calls · /)]);
  });

  it('moves nothing that was drawn while the agent works on', async () => {
    v.backend.seed('s', (stage) => chat(stage, question));
    await v.open('s');
    v.backend.hold('tools');
    await v.backend.send('s', 'Survey it');
    const call = v.page.locator('.tool-call').first();
    await call.waitFor();
    const asked = v.page.locator('.user-turn').last();
    const place = async () => ((await call.boundingBox())?.y ?? 0) - ((await asked.boundingBox())?.y ?? 0);
    const turns = v.page.locator('.agent-turn');
    const [before, count] = [await place(), await turns.count()];
    await expect.poll(() => turns.last().getAttribute('aria-busy')).toBe('true');
    v.backend.release('tools');
    v.backend.hold('mid-stream');
    await v.page.locator('.tool-time').first().waitFor();
    expect(await place()).toBe(before);
    await expect.poll(() => turns.count()).toBe(count);
  });

  it('follows what comes while it comes, until one goes up', async () => {
    v.backend.seed('s', (stage) => chat(stage, question));
    await v.open('s');
    const [view, grow] = [
      `document.querySelector('.conversation-scroll')`,
      `document.querySelector('.conversation-content').append(document.createElement('div')), document.querySelector('.conversation-content').lastChild.style.height = '900px'`,
    ];
    // A second piece arrives between the scrolling to the first and the event that tells of it.
    await evaluate(
      v.page,
      `new Promise((done) => { ${grow}; requestAnimationFrame(() => setTimeout(() => { ${grow}; setTimeout(done, 100); })); })`,
    );
    const left = `${view}.scrollHeight - ${view}.scrollTop - ${view}.clientHeight`;
    await expect.poll(() => evaluate(v.page, left)).toBeLessThan(2);
    await evaluate(v.page, `${view}.scrollTop -= 300`);
    const latest = v.page.getByRole('button', { name: 'To the end' });
    await latest.waitFor();
    const [button, scrolled] = [
      await latest.boundingBox(),
      await v.page.locator('.conversation-scroll').boundingBox(),
    ];
    expect(button?.y, 'it covers nothing').toBeGreaterThanOrEqual(
      (scrolled?.y ?? 0) + (scrolled?.height ?? 0),
    );
    // It is laid out and reported, so that nothing of it is left to follow.
    await evaluate(
      v.page,
      `new Promise((done) => { ${grow}; requestAnimationFrame(() => requestAnimationFrame(done)); })`,
    );
    expect(await evaluate<number>(v.page, left)).toBeGreaterThan(1000);
    await evaluate(v.page, `${view}.scrollTop = ${view}.scrollHeight - ${view}.clientHeight - 30`);
    await latest.waitFor({ state: 'detached' });
    expect(await evaluate<number>(v.page, left), 'a press would miss what moves under it').toBeCloseTo(30, 0);
    await evaluate(v.page, grow);
    await expect.poll(() => evaluate<number>(v.page, left), { message: 'and follows again' }).toBeLessThan(2);
    await evaluate(v.page, `${view}.scrollTop -= 300`);
    await latest.click();
    await expect.poll(() => evaluate<number>(v.page, left)).toBeLessThan(2);
    await latest.waitFor({ state: 'detached' });
  });

  it.each([1280, 390])('goes to the answer when one sends, from an open divider, at %d px', async (width) => {
    await v.page.setViewportSize({ width, height: 800 });
    v.backend.seed('s', longSession);
    await v.open('s');
    await v.page.locator('.fate-tag').last().click();
    await v.page.locator('.compaction-details .request-row').first().waitFor();
    await v.page.getByRole('button', { name: 'To the end' }).waitFor();
    for (const words of [question, '/compact']) {
      await v.page.getByRole('textbox', { name: 'Message' }).fill(words);
      await v.enter();
    }
    await v.page.getByRole('button', { name: '2 earlier compactions' }).waitFor();
    const view = `document.querySelector('.conversation-scroll')`;
    const left = `${view}.scrollHeight - ${view}.scrollTop - ${view}.clientHeight`;
    await expect.poll(() => evaluate<number>(v.page, left)).toBeLessThan(2);
    await v.page.setViewportSize({ width: 1280, height: 800 });
  });

  it('of thousands of messages lays out what is near the view, and leads to its beginning', async () => {
    v.backend.seed('s', function* (stage) {
      for (let turn = 1; stage.log.length < 2_000; turn++) yield* chat(stage, `Question ${turn}`);
    });
    await v.open('s');
    const turns = v.page.locator('.user-turn');
    await expect.poll(() => turns.count()).toBe(1_000);
    const seen = `[...document.querySelectorAll('.user-turn')].filter((turn) => turn.checkVisibility({ contentVisibilityAuto: true })).length`;
    const laidOut = `[...document.querySelectorAll('.user-turn p')].filter((text) => text.checkVisibility({ contentVisibilityAuto: true })).length`;
    expect(await evaluate<number>(v.page, seen)).toBe(1_000);
    expect(await evaluate<number>(v.page, laidOut)).toBeLessThan(100);
    const view = `document.querySelector('.conversation-scroll')`;
    const left = `${view}.scrollHeight - ${view}.scrollTop - ${view}.clientHeight`;
    await expect.poll(() => evaluate(v.page, left)).toBeLessThan(2);
    await turns.last().getByText('Question 1000').waitFor();
    await v.page.locator('body').press('k');
    await v.page.locator('.agent-turn:focus').waitFor();
    await evaluate(v.page, `${view}.scrollTop = 0`);
    await turns.first().getByText('Question 1', { exact: true }).waitFor();
  });

  it.each([1280, 390])(
    'links the name of a file that the agent wrote to the file, at %d px',
    async (width) => {
      await v.page.setViewportSize({ width, height: 800 });
      v.backend.seed('s', function* (stage) {
        yield* stage.begin('Write a report');
        yield* stage.answer('It is in `REPORT.md`, and `missing.md` is not there.');
        yield* stage.end();
      });
      await v.open('s');
      await said('REPORT.md').click();
      await v.page.getByRole('heading', { name: 'REPORT.md' }).waitFor();
      expect(await v.page.locator('.session a[aria-current="true"]').count()).toBe(width === 1280 ? 1 : 0);
      await v.page.getByRole('button', { name: 'Conversation', exact: true }).click();
      await expect.poll(() => v.page.locator('.conversation-content a').count()).toBe(1);
      await v.page.setViewportSize({ width: 1280, height: 800 });
    },
  );

  it('survives a reload in the middle of an answer', async () => {
    await v.open();
    v.backend.hold('mid-stream');
    await v.page.getByRole('textbox', { name: 'Message' }).fill(question);
    await v.page.getByRole('button', { name: 'Send' }).click();
    expect(await focused()).toBe('Message');
    await v.page.locator('.agent-turn .markdown li').first().waitFor();
    const [session] = await v.backend.sessions();
    const { events } = v.backend.transcript(session?.id ?? '');
    const streamed = events.map((event) => (event.type === 'text.delta' ? event.text : '')).join('');
    const plain = (text: string) => text.replace(/[\s`*-]+/g, '');
    const drafted = async () => plain(await textIn(v.page.locator('.agent-turn .markdown')));
    await expect.poll(drafted).toBe(plain(streamed));

    await v.page.reload();
    await expect.poll(drafted).toBe(plain(streamed));
    v.backend.release('mid-stream');
    await said(ending).waitFor();
    await expect.poll(() => textIn(v.page.locator('.user-turn'))).toContain(question);
    expect(v.complaints).toEqual([]);
  });

  it('stops', async () => {
    await v.open();
    v.backend.hold('mid-stream');
    await v.page.getByRole('textbox', { name: 'Message' }).fill(question);
    await v.enter();
    await v.page.getByRole('button', { name: 'Stop' }).click();
    await said('Stopped. Everything up to here is kept.').waitFor();
    await v.page.getByRole('button', { name: 'Send' }).waitFor();
    expect(v.complaints).toEqual([]);
  });

  it('shows a queued message, and gives it back to the message box when the user stops', async () => {
    await v.open();
    v.backend.hold('mid-stream');
    const composer = v.page.getByRole('textbox', { name: 'Message' });
    await composer.fill(question);
    await v.enter();
    await v.page.getByRole('button', { name: 'Stop' }).waitFor();
    await composer.fill('Also mind the ports');
    await v.page.locator('.composer-send:enabled').waitFor();
    await composer.press('Enter');
    await expect.poll(() => composer.inputValue()).toBe('');
    const waiting = v.page.getByRole('article', { name: 'You, queued' });
    const shown = 'Also mind the ports Sent. The agent reads it at its next step.';
    await expect.poll(async () => (await textIn(waiting)).replace(/\s+/g, ' ')).toBe(shown);
    await v.page.reload();
    await expect.poll(async () => (await textIn(waiting)).replace(/\s+/g, ' ')).toBe(shown);
    await composer.fill('half a thought');
    await v.page.getByRole('button', { name: 'Stop' }).click();
    await expect.poll(() => composer.inputValue()).toBe('Also mind the ports\n\nhalf a thought');
    await waiting.waitFor({ state: 'detached' });
    await said('Stopped. Everything up to here is kept.').waitFor();
    expect(v.complaints).toEqual([]);
  });

  it('shows a call that was stopped as stopped, not as failed', async () => {
    await v.open();
    v.backend.hold('tools');
    await v.page.getByRole('textbox', { name: 'Message' }).fill('Survey it');
    await v.enter();
    await v.page.locator('.tool-call').first().waitFor();
    await v.page.getByRole('button', { name: 'Stop' }).click();
    await said('Stopped. Everything up to here is kept.').waitFor();
    await expect
      .poll(() => v.page.locator('.tool-call .tag').allInnerTexts())
      .toEqual(['stopped', 'stopped']);
    expect(await v.page.locator('.tool-failed').count()).toBe(0);
  });

  it('keeps what could not be sent', async () => {
    v.backend.seed('s', (stage) => chat(stage, question));
    await v.open('s');
    v.backend.hold('mid-stream');
    await v.backend.send('s', 'from elsewhere');
    await v.page.getByRole('button', { name: 'Stop' }).waitFor();
    const composer = v.page.getByRole('textbox', { name: 'Message' });
    await composer.fill('me too');
    await composer.press('Enter');
    await expect.poll(() => composer.inputValue()).toBe('me too');
  });

  it('catches up after the connection was lost', async () => {
    v.backend.seed('s', (stage) => chat(stage, question));
    await v.open('s');
    await v.page.context().setOffline(true);
    await v.backend.send('s', 'What did I miss?');
    await v.page.context().setOffline(false);
    await said('What did I miss?').waitFor();
  });

  it('announces the end of a call that ended without a connection', async () => {
    v.backend.seed('s', (stage) => chat(stage, question));
    await v.open('s');
    v.backend.hold('mid-stream');
    await v.backend.send('s', 'And then?');
    await v.page.getByRole('status').getByText('Working').waitFor();
    await setVisible(v.page, 'hidden');
    v.backend.release('mid-stream');
    await expect.poll(async () => (await v.backend.state('s')).running).toBe(false);
    await setVisible(v.page, 'visible');
    await v.page.locator('[aria-live="polite"]', { hasText: 'Reply complete.' }).waitFor();
  });

  it('says that a stop did not reach the server, and delivers it when the server answers', async () => {
    await v.open();
    v.backend.hold('mid-stream');
    await v.page.getByRole('textbox', { name: 'Message' }).fill(question);
    await v.enter();
    await v.page.route('**/stop', (route) => route.abort());
    await v.page.getByRole('button', { name: 'Stop' }).click();
    const alert = v.page.getByRole('alert');
    await expect.poll(() => textIn(alert)).toBe('Stop was not delivered yet. The agent is still running.');
    await v.page.unroute('**/stop');
    await said('Stopped. Everything up to here is kept.').waitFor();
    await alert.waitFor({ state: 'detached' });
  });

  it('keeps the conversation after a restart with another token, and says what to do', async () => {
    v.backend.seed('s', (stage) => chat(stage, question));
    await v.open('s');
    v.backend.hold('mid-stream');
    await v.backend.send('s', 'And then?');
    await v.page.getByRole('status').getByText('Working').waitFor();
    v.expectComplaints('');
    const { port } = new URL(v.url);
    await v.server.close();
    const next = createServer({ backend: v.backend, webRoot: inject('webRoot'), port: Number(port) });
    await next.listen();
    await v.page.getByText('The server was restarted. Open the address it printed.').waitFor();
    expect(await v.page.getByRole('status').getByText('Working').count()).toBe(0);
    await said(ending).waitFor();
    await next.close();
  });

  it.each(['sends', 'comes to the front'])('follows a restarted server again when it %s', async (how) => {
    v.backend.seed('s', (stage) => chat(stage, question));
    await v.open('s');
    v.expectComplaints('');
    const { port } = new URL(v.url);
    await v.server.close();
    const next = createServer({ backend: v.backend, webRoot: inject('webRoot'), port: Number(port) });
    const address = await next.listen();
    const alert = v.page.getByText('The server was restarted. Open the address it printed.');
    await alert.waitFor();
    // The address is opened in another tab, which has the same cookies.
    await v.page.request.get(address);
    if (how === 'sends') {
      await v.page.getByRole('textbox', { name: 'Message' }).fill('Are you back?');
      await v.enter();
    } else {
      await setVisible(v.page, 'hidden');
      await v.backend.send('s', 'Are you back?');
      await setVisible(v.page, 'visible');
    }
    await v.page.locator('.user-turn', { hasText: 'Are you back?' }).waitFor();
    await alert.waitFor({ state: 'detached' });
    await next.close();
  });

  it('shows an error with what is safe and what to do', async () => {
    await v.open();
    await v.page.getByRole('textbox', { name: 'Message' }).fill('fail please');
    await v.enter();
    const alert = v.page.getByRole('alert');
    await expect.poll(() => textIn(alert)).toContain('529 (overloaded)');
    await expect.poll(() => textIn(alert)).toContain('Nothing is lost');
    await alert.getByRole('button', { name: 'Edit and send again' }).click();
    await expect
      .poll(() => v.page.getByRole('textbox', { name: 'Message' }).inputValue())
      .toBe('fail please');
  });

  it('chooses what an error card says and offers by the code of the error, not by its words', async () => {
    v.backend.seed('s', function* (stage) {
      yield* stage.begin('One');
      yield* stage.fail('context_overflow', 'It has 30 000 tokens.');
      yield* stage.begin('Two');
      yield* stage.fail('model_error', 'context_overflow: it has 30 000 tokens.');
      yield* stage.begin('Three');
      yield* stage.fail('model_error', `${KEY_REFUSED} Check it.`);
    });
    await v.open('s');
    const cards = v.page.locator('.notice-error');
    await expect
      .poll(() => cards.locator('strong').allInnerTexts())
      .toEqual(['The request is too large for the model', 'The model failed', KEY_REFUSED]);
    await expect.poll(() => cards.getByRole('button').allInnerTexts()).toEqual(['Edit and send again']);
    v.backend.seed('t', function* (stage) {
      yield* stage.begin('One');
      yield* stage.fail('context_overflow', 'It has 30 000 tokens.');
    });
    await v.open('t');
    await cards.getByRole('button', { name: 'Compact' }).click();
    await v.page.locator('.compaction').waitFor();
  });

  it('is there seven times in one browser: a hidden page holds no connection, and catches up when it is shown', async () => {
    const context = v.page.context();
    const more = await Promise.all(Array.from({ length: 6 }, () => context.newPage()));
    const pages = [v.page, ...more];
    v.backend.hold('mid-stream');
    for (const [index, page] of pages.entries()) {
      await page.goto(v.url);
      await page.locator('.empty button').first().waitFor();
      await page.getByRole('textbox', { name: 'Message' }).fill(`${question} (${index})`);
      await page.getByRole('textbox', { name: 'Message' }).press('Enter');
      await page.locator('.user-turn', { hasText: `(${index})` }).waitFor();
      await setVisible(page, 'hidden');
    }
    v.backend.release('mid-stream');
    for (const page of pages) {
      await setVisible(page, 'visible');
      await page.locator('.agent-turn[aria-busy="false"] .reply-figures').waitFor();
      await expect.poll(() => page.locator('.user-turn').count()).toBe(1);
      await setVisible(page, 'hidden');
    }
    expect(v.complaints).toEqual([]);
  });

  it('says that there is none at an address that is cut off', async () => {
    await v.page.goto(`${v.url}#/s/%E0%A4%A`);
    await v.page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
  });

  it('says that an answer is empty', async () => {
    v.backend.seed('s', function* (stage) {
      yield* stage.begin('Say nothing');
      yield* stage.answer('');
      yield* stage.end();
    });
    await v.open('s');
    await said('The answer is empty').waitFor();
    await expect.poll(() => v.page.title()).toBe('Say nothing · x');
  });

  it('has commands of the terminal', async () => {
    v.backend.seed('s', (stage) => chat(stage, question));
    await v.open('s');
    const composer = v.page.getByRole('textbox', { name: 'Message' });
    await expect
      .poll(() => composer.getAttribute('placeholder'))
      .toBe('Write a message, or /compact, /undo, /new');
    await composer.fill('/undo');
    await v.enter();
    await v.page.getByText('There is no compaction to undo.').waitFor();
    await composer.fill('/foo bar');
    await v.enter();
    await v.page.getByText('There is no command /foo. Available: /compact').waitFor();
  });

  it('offers the way out of a conversation that is gone', async () => {
    await v.page.goto(`${v.url}#/s/gone`);
    await v.page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
    await v.page.getByRole('heading', { name: 'No conversation', exact: true }).waitFor();
    await v.page.getByPlaceholder('No conversation is open').waitFor();
    await v.page.locator('.missing').getByRole('button', { name: 'New conversation' }).click();
    await v.page.locator('.empty').waitFor();
  });
});

describe('a tool call', () => {
  beforeEach(async () => {
    v.backend.seed('s', (stage) => survey(stage, 'Survey it'));
    await v.open('s');
  });

  it('is one line with its name, first argument, size and time', async () => {
    const line = v.page.locator('.tool-call').filter({ hasText: 'message.ts' }).locator('.fold-line');
    await expect
      .poll(() => textIn(line))
      .toMatch(/^read_file\s+packages\/core\/src\/messages\/message\.ts\s+[\d.]+\sKB\s+\d+\sms$/);
    await expect.poll(async () => (await line.boundingBox())?.height).toBe(32);
  });

  it('opens to input and output, which can be copied', async () => {
    const call = v.page.locator('.tool-call').filter({ hasText: 'message.ts' });
    await call.locator('.fold-line').click();
    await expect
      .poll(() => textIn(call.locator('pre').first()))
      .toContain('"path": "packages/core/src/messages/message.ts"');
    // The first and last lines, and all when asked.
    await expect.poll(() => textIn(call.locator('pre').nth(1))).toMatch(/… \d+ more lines/);
    await call.getByRole('button', { name: 'Show all of it' }).click();
    await expect.poll(() => textIn(call.locator('pre').nth(1))).toContain('export function textOf');
    await call.getByRole('button', { name: 'Copy input' }).click();
    await expect.poll(() => evaluate(v.page, 'navigator.clipboard.readText()')).toContain('message.ts');
    await call.locator('.fold-line').click();
    await expect.poll(() => call.locator('pre').count()).toBe(0);
  });

  it('is copied over HTTP, where a page has no clipboard, and says when that fails', async () => {
    const call = v.page.locator('.tool-call').filter({ hasText: 'message.ts' });
    await call.locator('.fold-line').click();
    await v.page.evaluate(`
      window.board = navigator.clipboard;
      Object.defineProperty(navigator, 'clipboard', { value: undefined });
    `);
    await call.getByRole('button', { name: 'Copy input' }).click();
    await call.getByText('Copied', { exact: true }).waitFor();
    expect(await focused()).toBe('Copy input');
    await expect.poll(() => evaluate(v.page, 'board.readText()')).toContain('message.ts');
    await v.page.evaluate('document.execCommand = () => false');
    await call.getByRole('button', { name: 'Copy input' }).click();
    await call.getByText('Not copied: select the text').waitFor();
  });

  it('leads to the whole of a result that was moved to a file', async () => {
    const call = v.page.locator('.tool-call').filter({ hasText: 'in a file' });
    await call.locator('.fold-line').click();
    await expect.poll(() => textIn(call.locator('pre').nth(1))).toMatch(/… \d+ more lines/);
    await call.getByRole('link', { name: /Open the whole result/ }).click();
    await v.page.locator('.view-content .code-block pre').waitFor();
  });
});

describe('what a model writes', () => {
  it('is drawn as text, lists, tables and code, never as markup of its own', async () => {
    v.backend.seed('s', function* (stage) {
      yield* stage.begin('Write something nasty');
      yield* stage.answer(
        [
          '# Heading',
          '<img src=x onerror="document.title=1"> <script>document.title = 2</script>',
          '[bad](javascript:document.title=3) [good](https://example.com/a) ![pixel](https://example.com/p.png)',
          '| a | b |\n| - | -: |\n| 1 | 2 |',
          '- [x] done\n- [ ] A &lt;b&gt; &amp; more\n- <b>not bold</b>',
          '```html\n<b>code</b>\n```',
        ].join('\n\n'),
      );
      yield* stage.end();
    });
    await v.open('s');
    const answer = v.page.locator('.markdown');
    await expect.poll(() => answer.locator('img, script, b').count()).toBe(0);
    await expect.poll(() => answer.locator('a').count()).toBe(1);
    await expect.poll(() => answer.locator('a').getAttribute('href')).toBe('https://example.com/a');
    await expect.poll(() => answer.locator('a').getAttribute('rel')).toContain('noopener');
    await expect.poll(() => answer.locator('td').allInnerTexts()).toEqual(['1', '2']);
    await expect.poll(() => textIn(answer)).toContain('<b>not bold</b>');
    const tasks = answer.locator('li:has(input)');
    await expect.poll(() => tasks.allInnerTexts()).toEqual(['done', 'A <b> & more']);
    await expect.poll(() => answer.getByRole('checkbox', { name: 'Done' }).isChecked()).toBe(true);
    await expect.poll(() => answer.getByRole('checkbox', { name: 'To do' }).isChecked()).toBe(false);
    await expect.poll(async () => (await tasks.nth(1).boundingBox())?.height).toBeLessThan(30);
    await expect.poll(() => textIn(answer.locator('pre'))).toBe('<b>code</b>');
    await expect.poll(() => v.page.title()).toBe('Write something nasty · x');
    expect(v.complaints).toEqual([]);
  });
});

describe('the list of conversations', () => {
  beforeEach(async () => {
    // At noon, whenever this runs: a minute after midnight, what was said two minutes ago was said yesterday.
    const noon = new Date('2026-11-20T12:00:00Z');
    await v.setTime(noon);
    vi.setSystemTime(noon);
    v.backend.seed('a', (stage) => chat(stage, 'Stores and turns'));
    v.backend.seed('b', (stage) => survey(stage, 'Layout of the packages'), 1);
    v.backend.seed('c', (stage) => outage(stage, 'Long ago'), 40);
    vi.useRealTimers();
    await v.open('a');
  });

  it('shows the latest first, with time or day, and is searched by what was said', async () => {
    await expect
      .poll(() => v.page.locator('.session .tag').allInnerTexts())
      .toEqual([expect.stringMatching(/^\d\d:\d\d$/), '19 Nov', '11 Oct']);
    await v.page.getByRole('searchbox').fill('monorepo vocabulary');
    await expect
      .poll(() => v.page.locator('.session-title').allInnerTexts())
      .toEqual(['Layout of the packages']);
    // A live region speaks only what changes in it, so it is there before.
    const status = v.page.getByRole('navigation').getByRole('status');
    await expect.poll(() => textIn(status)).toBe('1 conversation');
    await v.page.getByRole('searchbox').fill('zebra crossing');
    await expect
      .poll(() => textIn(v.page.locator('.sessions-note')))
      .toBe('No conversation has a message or tool call with these words.');
  });

  it('leads from the search to the found message, by keys, and marks it', async () => {
    v.backend.seed('long', function* (stage) {
      yield* stage.begin('Find the wombats');
      const calls = Array.from({ length: 60 }, (_, index) => ({
        name: 'read_file',
        input: { path: `${index}.ts` },
        output: 'export {};',
      }));
      yield* stage.work('The quokkas are in the attic.', calls);
      yield* stage.answer('That was all.');
      yield* stage.end();
    });
    await v.page.getByRole('searchbox').fill('wombats');
    await v.page.locator('.session', { hasText: 'Find the wombats' }).waitFor();
    await v.page.keyboard.press('Tab');
    await v.page.keyboard.press('Enter');
    const hit = v.page.locator('[data-shown]');
    await expect.poll(() => textIn(hit)).toContain('Find the wombats');
    await expect.poll(() => shareInView(hit)).toBe(1);
    // The text of the agent, in a turn that is higher than the view.
    await v.page.locator('.tool-call').last().scrollIntoViewIfNeeded();
    await v.page.getByRole('searchbox').fill('quokkas');
    await v.page.locator('.session .label', { hasText: 'The quokkas are in the attic.' }).click();
    await expect.poll(() => textIn(hit)).toBe('The quokkas are in the attic.');
    await expect.poll(() => shareInView(hit)).toBe(1);
    await v.page.getByRole('textbox', { name: 'Message' }).focus();
    await expect.poll(() => hit.count()).toBe(0);
  });

  it('names the button that deletes one by its title and time', async () => {
    const label = v.page.locator('.session', { hasText: 'Stores and turns' }).getByRole('button');
    await expect
      .poll(() => label.getAttribute('aria-label'))
      .toMatch(/^Delete “Stores and turns”, \d\d:\d\d$/);
  });

  it('keeps its buttons off the titles', async () => {
    v.backend.seed('d', (stage) => chat(stage, 'A long title that does not fit into the column '.repeat(3)));
    await v.page.reload();
    const item = v.page.locator('.session', { hasText: 'A long title' });
    await item.hover();
    const title = await item.locator('.session-title').boundingBox();
    const icon = await item
      .getByRole('button', { name: /Delete/ })
      .locator('svg')
      .boundingBox();
    expect((title?.x ?? 0) + (title?.width ?? 0)).toBeLessThan(icon?.x ?? 0);
  });

  it('switches, and the back button leads back', async () => {
    await v.page.getByRole('link', { name: /Layout of the packages/ }).click();
    await said('This is a monorepo').waitFor();
    await expect
      .poll(() => textIn(v.page.locator('.session a[aria-current]')))
      .toContain('Layout of the packages');
    await v.page.goBack();
    await v.page.locator('.user-turn', { hasText: 'Stores and turns' }).waitFor();
  });

  it('says that the agent is at work before it deletes, and no longer announces what the deleted one said', async () => {
    v.backend.seed('busy', (stage) => chat(stage, 'Busy one'));
    await v.open('busy');
    v.backend.hold('mid-stream');
    await v.backend.send('busy', 'And then?');
    const live = v.page.locator('[aria-live="polite"]');
    const item = v.page.locator('.session', { hasText: 'Busy one' });
    await v.page.getByRole('button', { name: 'Stop' }).waitFor();
    const asked: string[] = [];
    const remove = async (answer: 'dismiss' | 'accept') => {
      v.page.once('dialog', (dialog) => {
        asked.push(dialog.message());
        return dialog[answer]();
      });
      await item.hover();
      await item.getByRole('button', { name: /Delete/ }).click();
    };
    await remove('dismiss');
    await v.page.getByRole('button', { name: 'Stop' }).click();
    await expect.poll(() => textIn(live)).toContain('Stopped.');
    await v.page.locator('.composer:not(:has(.composer-stop))').waitFor();
    await remove('accept');
    await v.page.locator('.empty').waitFor();
    await expect.poll(() => textIn(live)).toBe('');
    expect(asked).toEqual([
      'Delete “Busy one” and its log? The agent is still working in it, and will be stopped.',
      'Delete “Busy one” and its log?',
    ]);
  });

  it('deletes after asking', async () => {
    const item = v.page.locator('.session', { hasText: 'Stores and turns' });
    await item.hover();
    const asked: string[] = [];
    for (const answer of ['dismiss', 'accept'] as const) {
      v.page.once('dialog', (dialog) => {
        asked.push(dialog.message());
        return dialog[answer]();
      });
      await item.hover();
      await item.getByRole('button', { name: /Delete/ }).click();
    }
    expect(asked).toEqual(Array(2).fill('Delete “Stores and turns” and its log?'));
    await v.page.locator('.empty').waitFor();
    await expect
      .poll(() => v.page.locator('.session-title').allInnerTexts())
      .toEqual(['Layout of the packages', 'Long ago']);
  });

  it('has a new one from its first request on, which is sent once it is stored', async () => {
    const sessions = v.backend.sessions.bind(v.backend);
    let isStored = false;
    v.backend.sessions = async (words) =>
      (await sessions(words)).filter(({ title }) => isStored || title !== 'A new question');
    for (const gate of ['begun', 'mid-stream']) v.backend.hold(gate);
    await v.open();
    await v.page.getByRole('textbox', { name: 'Message' }).fill('A new question');
    await v.enter();
    await v.page.locator('.user-turn', { hasText: 'A new question' }).waitFor();
    isStored = true;
    v.backend.release('begun');
    await expect.poll(() => v.page.locator('.session-title').allInnerTexts()).toContain('A new question');
    v.backend.release('mid-stream');
  });

  it('drops one that another tab deleted: its title, its figures and its entry', async () => {
    v.expectComplaints('404');
    v.expectComplaints('EventSource');
    await v.page.getByRole('link', { name: /Stores and turns/ }).click();
    await v.page.locator('.user-turn', { hasText: 'Stores and turns' }).waitFor();
    await v.page.getByText('What fills the window').waitFor();
    const [id] = (await v.backend.sessions(['Stores'])).map((session) => session.id);
    await v.backend.remove(id ?? '');
    await v.page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
    expect(await textIn(v.page.locator('h1'))).toBe('No conversation');
    expect(await v.page.getByText('What fills the window').count()).toBe(0);
    await expect
      .poll(() => v.page.locator('.session-title').allInnerTexts())
      .toEqual(['Layout of the packages', 'Long ago']);
  });

  it('says why one could not be deleted', async () => {
    v.expectComplaints('500');
    const error = { code: 'internal', message: 'The disk is full.' };
    await v.page.route('**/api/sessions/*', (route) =>
      route.request().method() === 'DELETE'
        ? route.fulfill({ status: 500, json: { error } })
        : route.continue(),
    );
    const item = v.page.locator('.session', { hasText: 'Stores and turns' });
    v.page.once('dialog', (dialog) => dialog.accept());
    await item.hover();
    await item.getByRole('button', { name: /Delete/ }).click();
    await v.page.getByRole('alert').getByText('The disk is full.').waitFor();
  });
});
