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

/** Counts areas of the window that lie over another one. */
const OVERLAPPING = `(() => {
  const boxes = [...document.querySelectorAll('.treemap-cell')].map((cell) => cell.getBoundingClientRect());
  const within = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]) > 1;
  const over = (a, b) => a !== b && within(a, b, 'left', 'right') && within(a, b, 'top', 'bottom');
  return boxes.filter((a) => boxes.some((b) => over(a, b))).length;
})()`;

describe('the inspector', () => {
  beforeEach(async () => {
    v.backend.seed('s', longSession);
    await v.open('s');
    await v.page.keyboard.press('i');
    await v.page.getByRole('heading', { name: 'Inspector' }).waitFor();
  });

  it('shows every request, and goes to one by keys or by its number', async () => {
    const track = section('Every request').getByRole('slider');
    await track.focus();
    await v.page.keyboard.press('Home');
    await expect
      .poll(() => track.getAttribute('aria-valuetext'))
      .toMatch(/^Request 1: [\d,]+ tokens, System/);
    await section('What the model saw in request 1').waitFor();
    await v.page.keyboard.press('ArrowRight');
    await expect.poll(() => track.getAttribute('aria-valuetext')).toMatch(/^Request 2: /);
    await v.page.getByRole('spinbutton', { name: 'Request' }).fill('5');
    await section('What the model saw in request 5').locator('.treemap-cell').first().waitFor();
    await v.page.getByRole('button', { name: 'Previous', exact: true }).click();
    await section('What the model saw in request 4').waitFor();
    await v.page.getByRole('button', { name: 'Latest', exact: true }).click();
    await section('What the model sees now').waitFor();
  });

  it('reaches every request and every compaction by keys', async () => {
    const track = section('Every request').getByRole('slider');
    await track.focus();
    await v.page.keyboard.press('Home');
    const words: (string | null)[] = [];
    const last = Number(await track.getAttribute('aria-valuemax'));
    for (let at = 1; at <= last; at++) {
      await expect.poll(() => track.getAttribute('aria-valuenow')).toBe(String(at));
      words.push(await track.getAttribute('aria-valuetext'));
      await v.page.keyboard.press('ArrowRight');
    }
    expect(words.filter((text) => text?.startsWith('Compaction'))).toHaveLength(3);
    await expect.poll(() => track.getAttribute('aria-valuenow')).toBe(String(last));
    await v.page.keyboard.press('ArrowLeft');
    await expect.poll(() => track.getAttribute('aria-valuenow')).toBe(String(last - 1));
  });

  it('has the request that it shows in its address, for a link that opens it', async () => {
    await v.page.getByRole('spinbutton', { name: 'Request' }).fill('5');
    await expect.poll(() => v.page.url()).toMatch(/#\/s\/s\/inspect\/5$/);
    await v.page.reload();
    await section('What the model saw in request 5').locator('.treemap-cell').first().waitFor();
    await v.page.keyboard.press('i');
    await v.page.locator('.user-turn').first().waitFor();
    await v.page.goBack();
    await section('What the model saw in request 5').waitFor();
    await v.page.getByRole('button', { name: 'Latest', exact: true }).click();
    await expect.poll(() => v.page.url()).toMatch(/#\/s\/s\/inspect$/);
    v.expectComplaints('404');
    const error = { code: 'not_found', message: 'The session has made no request 999.', issues: [] };
    await v.page.route('**/request?step=999', (route) => route.fulfill({ status: 404, json: { error } }));
    await v.page.goto(`${v.url}#/s/s/inspect/999`);
    await section('What the model saw in request 999').getByText(error.message).waitFor();
    expect(await v.page.locator('.treemap-cell').count()).toBe(0);
  });

  it('shows the window as areas; one leads to its message', async () => {
    const areas = section('What the model sees now').locator('.treemap-cell');
    await expect.poll(() => areas.count()).toBeGreaterThan(5);
    await areas.first().focus();
    await v.page.keyboard.press('ArrowRight');
    await expect
      .poll(() => evaluate(v.page, 'document.activeElement.getAttribute("aria-label")'))
      .toMatch(/: .*, [\d,]+ tokens$/);
    const said = v.page.getByRole('button', { name: /Conversation: And what does the model still know/ });
    await said.click();
    const message = v.page.locator('.user-turn', { hasText: 'And what does the model still know' });
    await message.waitFor();
    await expect.poll(() => evaluate(v.page, 'document.activeElement.className')).toContain('user-turn');
  });

  it('lays no area over another, however small', async () => {
    const message = (id: number, tokens: number) => ({
      id: `m-${id}`,
      source: 'toolResults',
      tokens,
      text: 'x',
    });
    const messages = [9_000, ...Array.from({ length: 40 }, () => 4)].map((tokens, id) => message(id, tokens));
    await v.page.route('**/api/sessions/s/request*', (route) =>
      route.fulfill({ json: { messages, removed: [], system: 900, tools: 900, reminders: 0 } }),
    );
    await v.page.reload();
    await expect.poll(() => section('What the model sees now').locator('.treemap-cell').count()).toBe(43);
    expect(await evaluate(v.page, OVERLAPPING)).toBe(0);
  });

  it('shows the window also while the agent works', async () => {
    const slider = v.page.getByRole('slider', { name: 'Tokens in the window, request by request' });
    const before = await slider.first().getAttribute('aria-valuemax');
    v.backend.hold('tools');
    await v.backend.send('s', 'Survey it');
    const cells = section('What the model sees now').locator('.treemap-cell');
    await expect.poll(() => slider.first().getAttribute('aria-valuemax')).not.toBe(before);
    await expect.poll(() => cells.count()).toBeGreaterThan(5);
    expect(v.backend.transcript('s').call).toBeDefined();
    v.backend.release('tools');
  });

  it('leads from a result to the call that it answers', async () => {
    await v.page
      .getByRole('button', { name: /^Tool results: / })
      .first()
      .click();
    await v.page.locator('.tool-call .tool-inside').first().waitFor();
  });

  it('says what every call took, with the share from the cache', async () => {
    const rows = section('What every call took').locator('tbody tr');
    await expect.poll(() => rows.count()).toBe(11);
    await expect.poll(() => textIn(rows.nth(1))).toMatch(/2\s+[\d.]+k\s+91\s%/);
    const table = section('What every call took').locator('.table-scroll');
    const head = table.locator('thead th').first();
    await rows.last().scrollIntoViewIfNeeded();
    const frame = await table.boundingBox();
    const first = await rows.first().boundingBox();
    expect(first?.y).toBeLessThan(frame?.y ?? 0);
    expect((await head.boundingBox())?.y).toBeGreaterThanOrEqual(frame?.y ?? Infinity);
  });

  it('keeps its place over a reload, and goes back with the same key', async () => {
    await v.page.reload();
    await v.page.getByRole('heading', { name: 'Inspector' }).waitFor();
    await v.page.keyboard.press('i');
    await v.page.locator('.user-turn').first().waitFor();
  });
});

describe('the memory', () => {
  beforeEach(async () => {
    await v.page.goto(`${v.url}#/memory`);
    await section('MEMORY.md').waitFor();
  });

  it('is read file by file, with line numbers', async () => {
    await expect
      .poll(() => textIn(section('MEMORY.md').locator('li').nth(4)))
      .toMatch(/5\s+- The user prefers spaces/);
    await v.page.getByRole('button', { name: '2026-11-19.md' }).click();
    await section('memory/2026-11-19.md').getByText('16 000 tokens').waitFor();
  });

  it.each([
    [true, 'Memory is empty: the embedded guide writes no memories.'],
    [false, 'Memory is empty. The agent takes notes at the end of a call and before a compaction.'],
  ])('says why it is empty, without a model: %s', async (embedded, reason) => {
    v.backend.model = { id: 'a model', embedded };
    await v.page.route('**/api/memory', (route) => route.fulfill({ json: [] }));
    await v.page.reload();
    await v.page.getByText(reason).waitFor();
  });

  it('is searched; a hit leads to its line', async () => {
    await v.page.getByRole('searchbox', { name: 'Search memory' }).fill('redis');
    await v.page.getByRole('status').getByText('2 lines').or(v.page.getByText('2 lines')).first().waitFor();
    await v.page.getByRole('button', { name: /2026-11-20.md:2/ }).click();
    const marked = section('memory/2026-11-20.md').locator('[data-marked="true"]');
    await expect.poll(() => marked.count()).toBe(1);
    await expect.poll(() => textIn(marked)).toContain('The store of choice is Redis');
    await v.page.getByRole('searchbox', { name: 'Search memory' }).fill('zebra');
    await v.page.getByText('No line has these words').waitFor();
  });
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
    await expect.poll(() => rows.count()).toBe(4);
    await expect.poll(() => textIn(rows.nth(0))).toMatch(/^everything/);
    await v.page.getByLabel('Window, tokens').fill('16000');
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
    await v.page.getByLabel('Window, tokens').fill('12');
    await v.page.keyboard.press('Enter');
    await expect.poll(() => v.page.getByLabel('Window, tokens').getAttribute('aria-invalid')).toBe('true');
  });
});
