import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { longSession } from '../fake-backend/scenarios.js';
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
    const row = await section('Request 5').locator('.request-row').first().boundingBox();
    expect((row?.y ?? 0) + (row?.height ?? 0), 'it is in view').toBeLessThan(800);
    await step('Previous').click();
    await section('Request 4').waitFor();
    const last = v.backend.transcript('s').places.at(-1)?.request;
    await number().fill('999');
    await section('Every request').getByText(`The last request is number ${last}.`).waitFor();
    await section(`Request ${last}`).waitFor();
    await number().press('9');
    await expect.poll(() => number().inputValue()).toBe(String(last));
    await step('Latest').click();
    await v.page.getByRole('button', { name: 'What the model sees now' }).waitFor();
    await v.page.getByText('The last request is').waitFor({ state: 'detached' });
    expect(await number().getAttribute('placeholder')).toBe(`1–${last}`);
  });

  it('say what else a request has, with its tokens, and that its text is not stored', async () => {
    await number().fill('5');
    const { context } = v.backend.transcript('s').places.find(({ request }) => request === 5) ?? {};
    const words = () => textIn(section('Request 5').locator('.request-frame'));
    const size = context?.system.toLocaleString('en-US');
    await expect.poll(words).toContain(`${size} of the system prompt,`);
    expect(await words()).toContain('not stored');
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
    const error = { code: 'not_found', message: 'The session has no request or compaction 999.' };
    await v.page.route('**/request?place=999', (route) => route.fulfill({ status: 404, json: { error } }));
    await v.page.goto(`${v.url}#/s/s/999`);
    await section('Place 999').getByText(error.message).waitFor();
    expect(await v.page.locator('.request-row').count()).toBe(0);
    // Nothing is said of a place that does not exist: the window is that of now.
    await expect.poll(() => textIn(v.page.locator('.gauge-readout'))).toMatch(/^Compacts at the tick/);
    await expect.poll(() => textIn(v.page.locator('.timeline figcaption'))).toMatch(/^Largest /);
    expect(await textIn(v.page.locator('.legend'))).not.toMatch(/Tools\s+0\s/);
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
    await v.page.locator('.agent-turn .markdown:focus').waitFor();
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
    // The next request sends just that, so that nothing is left to fold.
    await step('Next').click();
    await section(`Request ${Number(places[place - 1]?.request) + 1}`)
      .locator('.request-row')
      .first()
      .waitFor();
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
      .toMatch(/^Without compaction: [\d.]+k tokens in \d+ requests.*\. With compaction: [\d.]+k/);
    const words = await textIn(line);
    await line.click();
    const counted = section('Cost and savings').getByText(words);
    await expect.poll(() => shareInView(counted)).toBe(1);
    expect(await v.page.getByRole('button', { name: 'To the end' }).count(), 'the end was not left').toBe(0);
  });
});

it('says what is gone of the whole conversation, and keeps pins', async () => {
  v.backend.seed('s', longSession);
  await v.open('s');
  await v.page.getByRole('button', { name: 'What is gone' }).click();
  await v.page.locator('.gone-item', { hasText: 'You asked' }).click();
  await v.page.locator('.user-turn:focus').waitFor();
  const compacted = v.page.locator('.gone-item', { hasText: 'Compacted' });
  await expect
    .poll(() => compacted.allInnerTexts())
    .toEqual([
      // What the first one shortened, the last one summarized: each message counts once.
      expect.stringMatching(/^Compacted \d+ summarized, \d+ shortened\s+after request \d+$/),
    ]);
  const gone = await textIn(v.page.getByText(/^The model no longer sees/));
  const counts = (await textIn(compacted)).match(/\d+(?= summarized| shortened)/g)?.map(Number) ?? [];
  expect(gone).toContain(`sees ${counts.reduce((sum, count) => sum + count, 0)} of `);
  await compacted.last().click();
  await v.page.locator('.compaction:focus .compaction-details').waitFor();
  const pin = v.page.locator('.user-turn').last().getByRole('button', { name: /^Pin/ });
  const face = async () => [await pin.getAttribute('aria-label'), await pin.getAttribute('aria-pressed')];
  const [free, pinned] = [
    ['Pin: keep this word for word', 'false'],
    ['Pinned: stays word for word', 'true'],
  ];
  await expect.poll(face).toEqual(free);
  await pin.click();
  await v.page.getByText('1 of 1 pin present').waitFor();
  await expect.poll(face).toEqual(pinned);
  await v.page.getByRole('button', { name: 'Unpin' }).click();
  await v.page.getByText('1 of 1 pin present').waitFor({ state: 'detached' });
  await expect.poll(face).toEqual(free);
  await pin.click();
  await v.page.reload();
  await expect.poll(face).toEqual(pinned);
  await v.page.mouse.move(0, 0);
  const opacity = `getComputedStyle(document.querySelector('[aria-pressed="true"]:has(.lucide-pin)')).opacity`;
  await expect.poll(() => evaluate(v.page, opacity)).toBe('1');
  await pin.click();
  await expect.poll(face).toEqual(free);
});

it('compacts up to a message', async () => {
  v.backend.seed('s', longSession);
  await v.open('s');
  const asked = v.page.waitForRequest('**/compactions');
  const turn = v.page.locator('.user-turn').last();
  v.page.once('dialog', (dialog) => dialog.dismiss());
  await turn.getByRole('button', { name: 'Compact up to here' }).click();
  expect(v.backend.transcript('s').compactions, 'nothing happened yet').toHaveLength(3);
  v.page.once('dialog', (dialog) => dialog.accept());
  await turn.getByRole('button', { name: 'Compact up to here' }).click();
  expect((await asked).postDataJSON()).toEqual({
    upTo: await turn.getAttribute('data-messages'),
  });
  await v.page.getByRole('button', { name: '3 earlier compactions' }).waitFor();
  await expect.poll(() => shareInView(v.page.locator('.compaction').last())).toBe(1);
  expect(await evaluate(v.page, 'document.activeElement.className')).toBe('conversation-end');
});

it('lists the files of the agent and of its memory, each of which opens', async () => {
  await v.open();
  await section('Files').getByRole('link', { name: 'REPORT.md' }).click();
  await v.page.getByRole('heading', { name: 'REPORT.md' }).waitFor();
  await section('Memory').getByRole('link', { name: 'MEMORY.md' }).click();
  await v.page.getByRole('heading', { name: 'agents/guide/MEMORY.md' }).waitFor();
  await v.page.keyboard.press('Escape');
  await v.page.locator('.empty').waitFor();
});
