import type { Browser, FrameLocator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { longSession } from '../fake-backend/scenarios.js';
import { evaluate, launch, textIn, type Visit, visit } from './browse.js';
import { recordedLog } from './recorded-log.js';

let browser: Browser;
let v: Visit;

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());
beforeEach(async () => {
  v = await visit(browser);
});
afterEach(async () => {
  await v.close();
  expect(v.complaints).toEqual([]);
});

const section = (name: string) => v.page.getByRole('region', { name, exact: true });

describe('the places of a conversation, in the panel', () => {
  beforeEach(async () => {
    v.backend.seed('s', longSession);
    await v.open('s');
  });
  const track = () => section('Every request').getByRole('slider');
  const step = (name: string) => section('Every request').getByRole('button', { name, exact: true });
  const number = () => v.page.getByRole('spinbutton', { name: 'Request' });

  it('are requests and compactions, gone to by keys, by buttons or by a number', async () => {
    await track().focus();
    await v.page.keyboard.press('Home');
    await expect.poll(() => track().getAttribute('aria-valuetext')).toMatch(/^Request 1: [\d,]+ tokens$/);
    await section('Request 1').waitFor();
    await v.page.keyboard.press('ArrowRight');
    await expect.poll(() => track().getAttribute('aria-valuetext')).toMatch(/^Request 2: /);
    await number().fill('5');
    await section('Request 5').locator('.request-row').first().waitFor();
    await step('Previous').click();
    await section('Request 4').waitFor();
    await step('Latest').click();
    await v.page.getByRole('button', { name: 'What the model sees now' }).waitFor();
  });

  it('are all reached by keys, compactions too', async () => {
    await track().focus();
    await v.page.keyboard.press('Home');
    const words: (string | null)[] = [];
    const last = Number(await track().getAttribute('aria-valuemax'));
    for (let at = 1; at <= last; at++) {
      await expect.poll(() => track().getAttribute('aria-valuenow')).toBe(String(at));
      words.push(await track().getAttribute('aria-valuetext'));
      await v.page.keyboard.press('ArrowRight');
    }
    expect(words.filter((text) => text?.startsWith('Compaction'))).toHaveLength(3);
    await expect.poll(() => track().getAttribute('aria-valuenow')).toBe(String(last));
    await v.page.keyboard.press('ArrowLeft');
    await expect.poll(() => track().getAttribute('aria-valuenow')).toBe(String(last - 1));
  });

  it('stand in the address, for a link that opens one', async () => {
    await number().fill('5');
    await expect.poll(() => v.page.url()).toMatch(/#\/s\/s\/\d$/);
    await v.page.reload();
    await section('Request 5').locator('.request-row').first().waitFor();
    await step('Latest').click();
    await expect.poll(() => v.page.url()).toMatch(/#\/s\/s$/);
    v.expectComplaints('404');
    const error = { code: 'not_found', message: 'The session has no request or compaction 999.', issues: [] };
    await v.page.route('**/request?place=999', (route) => route.fulfill({ status: 404, json: { error } }));
    await v.page.goto(`${v.url}#/s/s/999`);
    await section('Place 999').getByText(error.message).waitFor();
    expect(await v.page.locator('.request-row').count()).toBe(0);
  });

  it('list what the model sees by kind and path; a message leads to its place, and from there back', async () => {
    await v.page.getByRole('button', { name: 'What the model sees now' }).click();
    const rows = v.page.locator('.panel .request-row');
    await expect.poll(() => rows.count()).toBeGreaterThan(5);
    await rows.filter({ hasText: 'Summary of what was removed' }).waitFor();
    const said = rows.filter({ hasText: 'You: And what does the model still know' });
    await said.locator('.fold-line').click();
    await said.getByRole('button', { name: 'Show in the conversation' }).click();
    await v.page.locator('.user-turn', { hasText: 'And what does the model still know' }).waitFor();
    await expect.poll(() => evaluate(v.page, 'document.activeElement.className')).toContain('user-turn');
    await v.page.locator('.reply-figures').last().click();
    const asked = section(`Request ${v.backend.transcript('s').places.at(-1)?.request}`);
    await expect.poll(() => textIn(asked)).toMatch(/[\d.]+k in · \d+ out/);
    await asked.getByRole('button', { name: 'Show the answer' }).click();
    await v.page.locator('.agent-turn:focus').waitFor();
  });

  it('show what a compaction changed, before and after, and fold what it left alone', async () => {
    const { places } = v.backend.transcript('s');
    const place = places.findLastIndex(({ compaction }) => compaction?.status === 'applied') + 1;
    await v.page.goto(`${v.url}#/s/s/${place}`);
    const seen = section(`Compaction applied after request ${places[place - 1]?.request}`);
    await seen.getByRole('heading', { name: /^Removed/ }).waitFor();
    await seen.getByRole('heading', { name: /^In their place/ }).waitFor();
    const unchanged = seen.locator('[data-fold^="unchanged-"]');
    await expect.poll(() => unchanged.getAttribute('aria-expanded')).toBe('false');
    await step('Previous').click();
    await section(`Request ${places[place - 1]?.request}`).waitFor();
    await step('Next').click();
    await seen.waitFor();
  });

  it('draw bar and legend as the window was there', async () => {
    const { places } = v.backend.transcript('s');
    const percent = (place: number) =>
      `${Math.round(((places[place - 1]?.context.total ?? 0) / 24_000) * 100)}\u202f% full`;
    expect(percent(2)).not.toBe(percent(places.length));
    await v.page.goto(`${v.url}#/s/s/2`);
    await expect.poll(() => textIn(v.page.locator('.gauge-figure'))).toContain(percent(2));
    await step('Latest').click();
    await expect.poll(() => textIn(v.page.locator('.gauge-figure'))).toContain(percent(places.length));
  });

  it('show the window also while the agent works', async () => {
    await v.page.getByRole('button', { name: 'What the model sees now' }).click();
    const before = await track().getAttribute('aria-valuemax');
    v.backend.hold('tools');
    await v.backend.send('s', 'Survey it');
    await expect.poll(() => track().getAttribute('aria-valuemax')).not.toBe(before);
    await expect.poll(() => v.page.locator('.panel .request-row').count()).toBeGreaterThan(5);
    expect(v.backend.transcript('s').call).toBeDefined();
    v.backend.release('tools');
  });

  it('say how savings are counted, from the line on top of the conversation', async () => {
    const line = v.page.locator('.worth');
    await expect
      .poll(() => textIn(line))
      .toMatch(
        /^Without compaction: [\d.]+k tokens, .*\. With: [\d.]+k, (?:never over|over it in \d+ of \d+ requests)\.$/,
      );
    const words = await textIn(line);
    await line.click();
    await section('Cost and savings').getByText(words).waitFor();
  });
});

it('lists the files of the agent and of its memory, each of which opens', async () => {
  await v.open();
  await section('Files').getByRole('link', { name: 'REPORT.md' }).click();
  await v.page.getByRole('heading', { name: 'REPORT.md' }).waitFor();
  await section('Memory').getByRole('link', { name: 'MEMORY.md' }).click();
  await v.page.getByRole('heading', { name: 'agents/guide/MEMORY.md' }).waitFor();
});

describe('a replay', () => {
  beforeEach(async () => {
    await v.page.goto(`${v.url}#/replay`);
    await v.page.getByRole('heading', { name: 'Replay a log' }).waitFor();
  });
  let report: FrameLocator;
  beforeEach(() => {
    report = v.page.frameLocator('iframe[title="Report"]');
  });
  const choose = (text: string) =>
    v.page
      .getByLabel('Log file')
      .setInputFiles({ name: 'log.json', mimeType: 'application/json', buffer: Buffer.from(text) });

  it('compares strategies on a log, at the window and prices that one wants', async () => {
    await choose(recordedLog(60));
    const rows = report.locator('section tbody tr');
    await expect.poll(() => rows.count()).toBe(5);
    await expect.poll(() => textIn(rows.nth(0))).toMatch(/^everything/);
    await v.page.getByLabel(/^Window, tokens/).fill('16000');
    await v.page.keyboard.press('Enter');
    await report.getByText('a window of 16.0k tokens').waitFor();
    await report.getByRole('img', { name: /^Tokens of each request by strategy/ }).waitFor();
    // Its style sheet is let in by the policy: the page would otherwise be as wide as its text.
    await expect.poll(async () => (await report.locator('main').boundingBox())?.width).toBeLessThan(960);
  });

  it('says what is wrong with a file or a field', async () => {
    v.expectComplaints('400');
    await choose('this is no log');
    await v.page.getByRole('alert').waitFor();
    await choose(recordedLog(3));
    await report.getByRole('table').first().waitFor();
    await v.page.getByLabel(/^Window, tokens/).fill('12');
    await v.page.keyboard.press('Enter');
    await expect.poll(() => v.page.getByLabel(/^Window, tokens/).getAttribute('aria-invalid')).toBe('true');
  });
});
