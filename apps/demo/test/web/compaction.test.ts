import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chat, longSession, survey } from '../fake-backend/scenarios.js';
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

const dividers = () => v.page.locator('.compaction > .fold > .fold-line');

describe('a compaction', () => {
  beforeEach(async () => {
    v.backend.seed('s', longSession);
    await v.open('s');
  });

  it('is a line that says what happened, also when nothing did', async () => {
    await expect
      .poll(() => dividers().allTextContents())
      .toEqual([
        expect.stringMatching(/^Compacted · 36 → 7 messages · .* tokens · mask outputs \+ summarize$/),
      ]);
    await expect
      .poll(() => v.page.locator('.compacted-here').allInnerTexts())
      .toEqual([expect.stringMatching(/^Compacted here: .*[\d.]+k tokens/), 'Too little could be removed']);
    await v.page.getByRole('button', { name: '2 earlier compactions' }).click();
    await expect
      .poll(() => dividers().allTextContents())
      .toEqual([
        expect.stringMatching(/^Compacted · [\d.]+k tokens sent instead of [\d.]+k · mask outputs$/),
        'Too little could be removed · nothing was changed',
        expect.stringMatching(/^Compacted · 36 → 7 messages · .* tokens · mask outputs \+ summarize$/),
      ]);
  });

  it('comes into view with what it took away, asked for from the panel', async () => {
    await v.page.getByRole('button', { name: /^Last compaction: / }).click();
    const heading = v.page.locator('.removed-heading');
    await heading.waitFor();
    const height = v.page.viewportSize()?.height ?? 0;
    const isInView = async () => {
      const { y = -1 } = (await heading.boundingBox()) ?? {};
      return y > 0 && y < height;
    };
    await expect.poll(isInView).toBe(true);
    // What follows the end does so once the conversation has grown.
    await v.page.evaluate(
      'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn())))',
    );
    expect(await isInView()).toBe(true);
  });

  it('opens to its reason, its strategy, its steps and what it took away', async () => {
    await dividers().last().click();
    const details = v.page.locator('.compaction-details');
    await expect
      .poll(() => textIn(details.locator('.facts')))
      .toMatch(/You asked for it[\s\S]*applied · As asked[\s\S]*mask outputs \+ summarize[\s\S]*2.5\ss/);
    await expect
      .poll(() => textIn(details.locator('.facts')))
      .toMatch(
        /Step 1\s+mask outputs: [\d.]+k → [\d.]+k tokens\s+Step 2\s+summarize: 36 → 7 messages · [\d.]+k → [\d.]+k tokens/,
      );
    await expect
      .poll(() => textIn(details.locator('.removed-heading')))
      .toContain('30 summarized, 1 shortened');
    await details.getByRole('button', { name: /^Show all 3\d$/ }).click();
    await expect.poll(() => details.locator('.request-row').count()).toBeGreaterThan(30);
    await details
      .getByRole('button', { name: /^Summary of what was removed/ })
      .last()
      .click();
    await expect.poll(() => textIn(details)).toContain('SESSION INTENT');
  });

  it('shows each message as it was before, and what the model sees instead', async () => {
    await v.page.getByRole('button', { name: '2 earlier compactions' }).click();
    await dividers().nth(0).click();
    const shortened = v.page.locator('.request-row').filter({ hasText: 'message.ts' });
    await shortened.locator('.fold-line').click();
    const blocks = shortened.locator('.code-block');
    await expect.poll(() => textIn(blocks.nth(1))).toContain('export function textOf');
    await expect.poll(() => textIn(blocks.first())).toContain('ask again to see it');

    await dividers().nth(2).click();
    const gone = v.page.locator('.compaction').nth(2).locator('.request-row').first();
    await gone.locator('.fold-line').click();
    await gone.getByRole('button', { name: 'Show in the conversation' }).click();
    await expect.poll(() => evaluate(v.page, 'document.activeElement.className')).toContain('turn');
  });

  it('marks in the conversation what the model no longer sees, and leads from there to the reason', async () => {
    const first = v.page.locator('.user-turn').first();
    await expect.poll(() => first.getAttribute('data-gone')).toBe('true');
    await first.locator('.fate-tag').click();
    await v.page.locator('.compaction').last().locator('.compaction-details').waitFor();
    await expect.poll(() => v.page.locator('.user-turn').last().getAttribute('data-gone')).toBe('false');
  });

  it('can be undone, the last one only', async () => {
    await v.page.getByRole('button', { name: '2 earlier compactions' }).click();
    await dividers().nth(0).click();
    await expect.poll(() => v.page.getByRole('button', { name: 'Undo this compaction' }).count()).toBe(0);
    await dividers().nth(2).click();
    await v.page.getByRole('button', { name: 'Undo this compaction' }).click();
    await expect.poll(() => dividers().nth(2).textContent()).toContain('Compaction undone');
    await expect
      .poll(() => textIn(v.page.locator('.panel')))
      .toMatch(/Compaction undone\s+1 earlier compaction still in effect\./);
    const track = v.page.getByRole('slider');
    await track.press('End');
    await expect
      .poll(() => track.getAttribute('aria-valuetext'))
      .toMatch(/^Undo after request \d+: [\d,]+ → [\d,]+ tokens$/);
    await expect.poll(() => v.page.locator('.timeline-undo').count()).toBe(1);
    // 30 were summarized, 1 was shortened, and the summary is gone.
    for (const place of ['.compaction', '.panel'])
      await expect
        .poll(() => v.page.locator(place).locator('.request-changes').last().locator('h3').allInnerTexts())
        .toEqual([
          expect.stringMatching(/^Removed\s+1 message$/),
          expect.stringMatching(/^Changed back\s+1 message$/),
          expect.stringMatching(/^Restored\s+30 messages$/),
        ]);
    await expect
      .poll(() => v.page.locator('.removed-heading').last().textContent())
      .toBe('What the undo changed ');
    await expect.poll(() => dividers().nth(2).textContent()).toContain('31 messages restored');
    await expect.poll(() => v.page.locator('.user-turn').first().getAttribute('data-gone')).toBe('false');
  });
});

it.each(['the button', '/undo'])('an undo is shown and announced, and keeps the focus: %s', async (way) => {
  await v.page.setViewportSize({ width: 390, height: 844 });
  v.backend.seed('s', function* (stage) {
    yield* longSession(stage);
    for (const words of ['Why?', 'How?', 'When?']) yield* chat(stage, words);
  });
  await v.open('s');
  if (way === '/undo') {
    await v.page.getByRole('textbox', { name: 'Message' }).fill('/undo');
    await v.enter();
  } else {
    await dividers().last().click();
    await v.page.getByRole('button', { name: 'Undo this compaction' }).click();
  }
  const line = dividers().filter({ hasText: 'Compaction undone · 31 messages restored' });
  await expect.poll(() => shareInView(line)).toBe(1);
  await v.page
    .locator('[aria-live="polite"]', { hasText: 'Compaction undone: 31 messages restored.' })
    .waitFor();
  await v.page.locator('.compaction:focus').waitFor();
  await v.page.setViewportSize({ width: 1280, height: 800 });
});

it('an undone compaction still says so after a newer one', async () => {
  v.backend.seed('s', longSession);
  await v.open('s');
  await v.backend.undo('s');
  await v.backend.compact('s');
  await v.page.getByRole('button', { name: '3 earlier compactions, 1 undone' }).waitFor();
  await expect.poll(() => v.page.locator('.compacted-here').last().textContent()).toBe('Compaction undone');
});

it('the line on top says that the conversation was compacted before a request shows it', async () => {
  v.backend.seed('s', (stage) => survey(stage, 'Survey it'));
  await v.open('s');
  const line = () => textIn(v.page.locator('.worth'));
  await expect.poll(line).toMatch(/^Not compacted: [\d.]+k tokens in \d requests\.$/);
  await v.backend.compact('s');
  const compacted = /^Compacted, from the next request on: \d+ → \d+ messages · [\d.]+k → [\d.]+k tokens\.$/;
  await expect.poll(line).toMatch(compacted);
  await v.page.reload();
  await expect.poll(line).toMatch(compacted);
  await v.backend.undo('s');
  await expect.poll(line).toMatch(/^Not compacted: /);
});

it('an earlier compaction is opened in its place, without the others', async () => {
  v.backend.seed('s', longSession);
  await v.open('s');
  await v.backend.undo('s');
  await dividers().filter({ hasText: 'Compaction undone' }).waitFor();
  const call = v.page.locator('.tool-call', { hasText: 'shortened' }).first();
  // The undo may restore the call that was the first one, after which another call is.
  await expect
    .poll(async () => {
      if ((await call.locator('.fate-tag').count()) === 0) await call.locator('.fold-line').click();
      return call.locator('.fate-tag').count();
    })
    .toBeGreaterThan(0);
  await call.locator('.fate-tag').click();
  await v.page.locator('.compaction:focus .compaction-details').waitFor();
  await expect.poll(() => v.page.locator('.compaction').count()).toBe(2);
  const [opened, last] = await Promise.all([
    dividers().first().boundingBox(),
    dividers().last().boundingBox(),
  ]);
  expect(opened?.y).toBeLessThan(last?.y ?? 0);
  await v.page.getByRole('button', { name: '1 earlier compaction', exact: true }).waitFor();
});

describe('the commands', () => {
  it('compact with instructions', async () => {
    v.backend.seed('s', (stage) => survey(stage, 'Survey it'));
    await v.open('s');
    await v.page.getByRole('textbox', { name: 'Message' }).fill('/compact Keep the names of packages');
    await v.enter();
    await dividers().first().waitFor();
    await expect.poll(() => dividers().first().textContent()).toContain('Compacted');
    await dividers().first().click();
    await expect.poll(() => textIn(v.page.locator('.facts'))).toContain('“Keep the names of packages”');
  });

  it('say so when there is too little to compact, or nothing', async () => {
    v.backend.seed('s', (stage) => chat(stage, 'How?'));
    await v.open('s');
    const composer = v.page.getByRole('textbox', { name: 'Message' });
    await composer.fill('/compact');
    await v.enter();
    await dividers().first().waitFor();
    await expect.poll(() => dividers().first().textContent()).toContain('Too little could be removed');
    await expect.poll(() => shareInView(dividers().first())).toBe(1);
    await dividers().first().click();
    await expect.poll(() => textIn(v.page.locator('.facts'))).toContain('no model was called');
    expect(await textIn(v.page.locator('.facts'))).not.toContain('mask outputs');

    await composer.fill('/new');
    await v.enter();
    await v.page.locator('.empty').waitFor();
    await composer.fill('/compact');
    await v.enter();
    await expect.poll(() => textIn(v.page.getByRole('alert'))).toContain('nothing to compact');
    await expect.poll(() => composer.inputValue()).toBe('/compact');
  });
});

it('the context panel says of a window that is too full what comes next', async () => {
  v.backend.seed('s', (stage) => chat(stage, 'word '.repeat(30_000)));
  await v.open('s');
  const total = v.backend.transcript('s').places.at(-1)?.context.total ?? 0;
  expect(total).toBeGreaterThan(24_000);
  await expect
    .poll(() => textIn(v.page.locator('.gauge-readout')))
    .toBe('Over the window: the next message compacts first.');
  await expect
    .poll(() => textIn(v.page.locator('.worth')))
    .toBe('Over the window: the next message compacts first.');
  const share = Math.round((total / 24_000) * 100);
  await expect.poll(() => textIn(v.page.locator('.gauge-figure'))).toContain(`${share}\u202f% full`);
});

it('the context panel does not call a window empty that was never counted', async () => {
  v.backend.seed('imported', function* (stage) {
    yield* stage.begin('What came from another agent');
    yield* stage.end();
  });
  await v.open('imported');
  await expect.poll(() => textIn(v.page.locator('.gauge-figure'))).toMatch(/^Not counted yet\s+24k tokens$/);
  await expect
    .poll(() => textIn(v.page.locator('.gauge-readout')))
    .toBe('The next request counts its tokens.');
});

describe('the context panel', () => {
  beforeEach(async () => {
    v.backend.seed('s', longSession);
    await v.open('s');
  });

  it('says how full the window is, by source, and what was removed last', async () => {
    const transcript = v.backend.transcript('s');
    const total = transcript.places.at(-1)?.context.total ?? 0;
    const share = Math.round((total / 24_000) * 100);
    await expect.poll(() => textIn(v.page.locator('.gauge-figure'))).toContain(`${share}\u202f% full`);
    await expect
      .poll(() => v.page.locator('.gauge-figure span').getAttribute('title'))
      .toContain(total.toLocaleString('en-US'));
    await expect
      .poll(() => textIn(v.page.locator('.last').first()))
      .toContain('Last compaction: 30 summarized, 1 shortened');

    const names = async () =>
      (await v.page.locator('.legend > div').allInnerTexts()).map((row) => row.split('\n')[0]);
    await expect
      .poll(names)
      .toEqual([
        'System prompt',
        'Tools',
        'Memory and reminders',
        'Summary',
        'Conversation',
        'Tool results',
        'Free',
      ]);
  });

  it('draws the bar to scale, with the tick at the trigger', async () => {
    const transcript = v.backend.transcript('s');
    const shares = async () => {
      const bar = await v.page.locator('.gauge .gauge-parts').boundingBox();
      const tools = await v.page.locator('.gauge .source-tools').boundingBox();
      const tick = await v.page.locator('.gauge .gauge-tick').boundingBox();
      const width = bar?.width ?? 0;
      return { tools: (tools?.width ?? 0) / width, trigger: ((tick?.x ?? 0) + 1 - (bar?.x ?? 0)) / width };
    };
    await expect.poll(shares).toEqual({
      tools: expect.closeTo((transcript.places.at(-1)?.context.tools ?? 0) / 24_000, 2),
      trigger: expect.closeTo(0.8, 2),
    });
  });

  it('names each source with its tokens, under the pointer in the bar and beside it', async () => {
    await expect
      .poll(() => v.page.locator('.gauge .source-tools').getAttribute('title'))
      .toMatch(/^Tools: 3,260 tokens, 14\s%$/);
    await expect.poll(() => textIn(v.page.locator('.legend > div').nth(1))).toMatch(/Tools\s+3\.3k\s+14\s%/);
  });

  it('marks each compaction on the time line, and tells of a step under the pointer', async () => {
    await expect.poll(() => v.page.locator('.timeline-mark').count()).toBe(2);
    await expect.poll(() => v.page.locator('.timeline-mark-void').count()).toBe(1);
    const track = v.page.getByRole('slider', { name: 'Tokens in the window, request by request' });
    const mark = await v.page.locator('.timeline-mark').first().boundingBox();
    const place = await track.boundingBox();
    await track.hover({ position: { x: (mark?.x ?? 0) + 4 - (place?.x ?? 0), y: 20 } });
    await expect
      .poll(() => textIn(v.page.locator('.timeline figcaption')))
      .toMatch(/^Compaction applied after request \d+: [\d,]+ → [\d,]+ tokens/);
  });

  it('leads to the last compaction', async () => {
    await v.page.locator('.last').first().click();
    await v.page.locator('.compaction').last().locator('.compaction-details').waitFor();
  });

  it('says what it cost, by reply and in all, where prices are known', async () => {
    v.backend.model = {
      id: 'gpt-5',
      embedded: false,
      prices: { input: 1_000, output: 10_000, cachedInput: 100, cacheWrite: 1_000 },
    };
    await v.page.reload();
    await v.page.locator('.reply-figures', { hasText: '$' }).first().waitFor();
    const cost = () => textIn(v.page.getByRole('region', { name: 'Cost and savings' }));
    await expect.poll(cost).toMatch(/Cost\s+\$[\d.,]+/);
  });

  it('names the largest request, not what was never sent', async () => {
    v.backend.seed('p', function* (stage) {
      yield* stage.begin('Look around');
      const calls = ['a.ts', 'b.ts', 'c.ts'].map((path) => ({
        name: 'read_file',
        input: { path },
        output: 'export {};\n'.repeat(300),
      }));
      yield* stage.work('First.', calls);
      yield* stage.work('Second.', calls);
      yield* stage.compact({
        reason: 'proactive_budget',
        status: 'applied',
        keepToolOutputs: 1,
        message: 'Masked.',
      });
      yield* stage.answer('Done.');
      yield* stage.end();
    });
    const { places: timeline } = v.backend.transcript('p');
    const sent = Math.max(
      ...timeline.flatMap(({ compaction, context }) => (compaction ? [] : [context.total])),
    );
    const before = Math.max(...timeline.map(({ compaction }) => compaction?.tokensBefore ?? 0));
    expect(before).toBeGreaterThan(sent + 1_000);
    await v.open('p');
    const caption = () => textIn(v.page.locator('.timeline figcaption'));
    await expect.poll(caption).toContain(`Largest request ${(sent / 1_000).toFixed(1)}k`);
    // Nor what an undo gives back.
    await v.backend.undo('p');
    expect(v.backend.transcript('p').places.at(-1)?.context.total).toBeGreaterThan(sent + 1_000);
    await v.page.getByText('Compaction undone').first().waitFor();
    expect(await caption()).toContain(`Largest request ${(sent / 1_000).toFixed(1)}k`);
  });

  it('lists todos and cost', async () => {
    const panel = () => textIn(v.page.locator('.panel'));
    await expect.poll(panel).toContain('2 of 4');
    await expect.poll(panel).toContain('Compare the store interface with the file stores');
    await expect.poll(panel).toMatch(/of them from the cache\s+[\d.]+k · \d+\s%/);
    await expect.poll(panel).toContain('none: no LLM');
  });
});
