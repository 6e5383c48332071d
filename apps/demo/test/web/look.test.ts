import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { asking, chat, longSession, outage } from '../fake-backend/scenarios.js';
import { evaluate, launch, shareInView, textIn, type Visit, visit } from './browse.js';
import { contrast, type Rgb, seenDistance } from './color.js';

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

const themes = ['light', 'dark'] as const;
const widths = [1280, 390] as const;

async function visiting(
  options: Parameters<typeof visit>[1],
  look: (v: Visit) => Promise<void>,
): Promise<void> {
  const v = await visit(browser, options);
  try {
    await look(v);
  } finally {
    await v.close();
  }
  expect(v.complaints).toEqual([]);
}

/** A color of the page's own, as the browser resolves it for the theme in force. */
async function color(v: Visit, name: string): Promise<Rgb> {
  const text = await evaluate<string>(
    v.page,
    `(() => {
      const probe = document.body.appendChild(document.createElement('i'));
      if ('${name}'.startsWith('source-')) probe.className = '${name}';
      else probe.style.color = 'var(--${name})';
      const { color } = getComputedStyle(probe);
      probe.remove();
      return color;
    })()`,
  );
  return rgb(text);
}

function rgb(text: string): Rgb {
  const [red = 0, green = 0, blue = 0] = text.match(/[\d.]+/g)?.map(Number) ?? [];
  return [red, green, blue];
}

const sources = ['system', 'tools', 'reminders', 'summary', 'conversation', 'toolResults'].map(
  (key) => `source-${key}`,
);

describe.each(themes)('in the %s theme', (colorScheme) => {
  it('text has AA contrast on every surface, and sources 3:1', async () => {
    await visiting({ colorScheme }, async (v) => {
      await v.open();
      for (const surface of ['background', 'side', 'surface', 'hover']) {
        for (const text of ['text', 'text-secondary']) {
          const ratio = contrast(await color(v, text), await color(v, surface));
          expect(ratio, `${text} on ${surface}`).toBeGreaterThanOrEqual(4.5);
        }
      }
      for (const surface of ['background', 'side']) {
        for (const text of ['accent', 'error', 'warning']) {
          const ratio = contrast(await color(v, text), await color(v, surface));
          expect(ratio, `${text} on ${surface}`).toBeGreaterThanOrEqual(4.5);
        }
        for (const source of sources) {
          const ratio = contrast(await color(v, source), await color(v, surface));
          expect(ratio, `${source} on ${surface}`).toBeGreaterThanOrEqual(3);
        }
      }
      expect(contrast(await color(v, 'on-accent'), await color(v, 'accent'))).toBeGreaterThanOrEqual(4.5);
      const hint = await evaluate<string>(
        v.page,
        `getComputedStyle(document.querySelector('textarea'), '::placeholder').color`,
      );
      expect(rgb(hint), 'a hint in a field').toEqual(await color(v, 'text-secondary'));
    });
  });

  it('sources are told apart by every kind of eye', async () => {
    await visiting({ colorScheme }, async (v) => {
      await v.open();
      const colors: [string, Rgb][] = [];
      for (const source of sources) colors.push([source, await color(v, source)]);
      for (const eye of ['trichromat', 'protanope', 'deuteranope'] as const) {
        for (const [left, one] of colors) {
          for (const [right, other] of colors) {
            if (left >= right) continue;
            expect(seenDistance(one, other, eye), `${left} and ${right}, ${eye}`).toBeGreaterThan(0.07);
          }
        }
      }
    });
  });

  it.each(widths)('what comes stands without a horizontal scroll at %d px', async (width) => {
    await visiting({ colorScheme, viewport: { width, height: 800 } }, async (v) => {
      const look = async (name: string) => {
        const overflow = 'document.documentElement.scrollWidth - innerWidth';
        expect(await evaluate(v.page, overflow), name).toBeLessThanOrEqual(0);
        const column = `(() => { const e = document.querySelector('.conversation-scroll'); return e.scrollWidth - e.clientWidth; })()`;
        expect(await evaluate(v.page, column), name).toBeLessThanOrEqual(0);
        await v.picture(`${width}-${colorScheme}-${name}`);
      };
      v.backend.seed('long', longSession);
      await v.open('long');
      await look('long');
      v.backend.hold('mid-stream');
      await v.page.getByRole('textbox', { name: 'Message' }).fill('How does a compaction work?');
      await v.enter();
      await v.page.locator('.agent-turn[aria-busy="true"] li').first().waitFor();
      await look('mid-stream');
    });
  });
});

describe('the theme', () => {
  it('follows the machine until one chooses, and keeps the choice', async () => {
    await visiting({ colorScheme: 'dark' }, async (v) => {
      await v.open();
      const lightness = async () => contrast(await color(v, 'background'), [0, 0, 0]);
      expect(await lightness()).toBeLessThan(2);
      await v.page.getByRole('button', { name: 'Theme: system' }).click();
      await expect.poll(lightness).toBeGreaterThan(18);
      await v.page.reload();
      await v.page.getByRole('button', { name: 'Theme: light' }).waitFor();
      expect(await lightness()).toBeGreaterThan(18);
    });
  });
});

describe('on a phone', () => {
  const phone = { viewport: { width: 390, height: 844 } };

  it('the gauge lies under the header and opens the panel as a sheet', async () => {
    await visiting(phone, async (v) => {
      v.backend.seed('long', longSession);
      await v.open('long');
      await expect.poll(() => v.page.locator('.panel').count()).toBe(0);
      expect((await v.page.locator('.conversation-gauge .gauge-parts').boundingBox())?.height).toBe(4);
      await expect
        .poll(() => textIn(v.page.getByRole('button', { name: 'Context panel' })))
        .toMatch(/^\d+\s%$/);
      await v.page.getByRole('button', { name: 'What fills the window' }).click();
      await v.page.getByRole('dialog', { name: 'Context' }).locator('.legend').waitFor();
      await v.picture('390-light-sheet');
      await v.page.keyboard.press('Escape');
      await v.page.locator('.panel').waitFor({ state: 'detached' });
    });
  });

  it('the line on top leads to how savings are counted', async () => {
    await visiting(phone, async (v) => {
      v.backend.seed('long', longSession);
      await v.open('long');
      await v.page.locator('.worth').click();
      const counted = v.page.getByText(/counts as it was sent/);
      await expect.poll(() => shareInView(counted)).toBe(1);
    });
  });

  it('conversations are in a drawer, and end where one is chosen', async () => {
    await visiting({ ...phone, hasTouch: true, isMobile: true }, async (v) => {
      v.backend.seed('a', (stage) => chat(stage, 'The first'));
      v.backend.seed('b', (stage) => chat(stage, 'The second'));
      await v.open('a');
      await v.page.getByRole('button', { name: 'Conversations' }).click();
      await v.picture('390-light-drawer');
      // A focused field would open the keyboard.
      expect(await evaluate(v.page, 'document.activeElement.tagName')).toBe('DIALOG');
      await v.page.getByRole('link', { name: /The second/ }).click();
      await v.page.locator('.user-turn', { hasText: 'The second' }).waitFor();
      await expect.poll(() => v.page.locator('.sessions').count()).toBe(0);
    });
  });

  it('a finger hits everything that can be pressed: 44 pixels', async () => {
    await visiting({ ...phone, hasTouch: true, isMobile: true }, async (v) => {
      v.backend.seed('long', longSession);
      v.backend.seed('asking', (stage) => asking(stage, 'Publish it'));
      v.backend.seed('failed', (stage) => outage(stage, 'Which store loses a turn?'));
      // Links within a text are as high as its lines. The gauge has a larger equivalent in the header.
      const small = `[...document.querySelectorAll(':is(button, a, input, textarea):not(.markdown *, .conversation-gauge)')]
        .map((one) => [one.textContent || one.ariaLabel, one.getBoundingClientRect()])
        .filter(([, { width, height }]) => width > 0 && (width < 44 || height < 44))
        .map(([name, { width, height }]) => name + ' ' + width + ' x ' + height)`;
      const look = async () => expect(await evaluate(v.page, small)).toEqual([]);
      await v.open();
      await look();
      await v.open('long');
      await v.page.locator('.compaction .fold-line').last().click();
      await v.page.locator('.compaction .request-row .fold-line').first().click();
      await v.page.locator('.compaction .code-block').first().waitFor();
      await look();
      await v.page.getByRole('button', { name: 'What fills the window' }).click();
      await v.page.getByRole('slider').press('Home');
      await v.page.getByRole('button', { name: 'What is gone' }).click();
      await v.page.getByRole('region', { name: 'Request 1' }).waitFor();
      await v.page.locator('.gone-item').first().waitFor();
      await look();
      await v.page.getByRole('button', { name: 'Close Context' }).click();
      await v.page.getByRole('button', { name: 'Conversations' }).click();
      await v.page
        .getByRole('button', { name: /^Delete/ })
        .first()
        .click();
      await look();
      for (const id of ['asking', 'failed']) {
        await v.open(id);
        await look();
      }
    });
  });

  it('Back closes what is open, the last one first, and leaves no trace', async () => {
    await visiting(phone, async (v) => {
      v.backend.seed('a', longSession);
      v.backend.seed('b', (stage) => chat(stage, 'The second'));
      await v.open('a');
      const dialog = (name: string) => v.page.getByRole('dialog', { name });
      await v.page.getByRole('button', { name: 'What fills the window' }).click();
      await dialog('Context').getByRole('slider').press('Home');
      await dialog('Context').getByRole('region', { name: 'Request 1' }).waitFor();
      await v.page.goBack();
      await dialog('Context').getByRole('button', { name: 'What the model sees now' }).waitFor();
      await v.page.goBack();
      await dialog('Context').waitFor({ state: 'detached' });

      // What opened with one press closes with one.
      await v.page.locator('.reply-figures').last().click();
      await dialog('Context')
        .getByRole('region', { name: /^Request \d+$/ })
        .waitFor();
      await v.page.goBack();
      await dialog('Context').waitFor({ state: 'detached' });
      await expect.poll(() => v.page.url()).toMatch(/#\/s\/a$/);

      await v.page.getByRole('button', { name: 'Conversations' }).click();
      await dialog('Conversations').getByRole('button', { name: 'Keys' }).click();
      await dialog('Keys').waitFor();
      await v.page.goBack();
      await dialog('Keys').waitFor({ state: 'detached' });
      await dialog('Conversations')
        .getByRole('link', { name: /The second/ })
        .click();
      await v.page.locator('.user-turn', { hasText: 'The second' }).waitFor();
      await v.page.goBack();
      await v.page.locator('.user-turn', { hasText: 'Survey this repository' }).waitFor();
      await v.page.goBack();
      await expect.poll(() => v.page.url()).not.toContain('/s/a');
    });
  });

  it('the closed sheet stays closed when one comes back from a file', async () => {
    await visiting(phone, async (v) => {
      v.backend.seed('a', longSession);
      await v.open('a');
      const sheet = v.page.getByRole('dialog', { name: 'Context' });
      await v.page.locator('.reply-figures').last().click();
      await sheet.getByRole('region', { name: /^Request \d+$/ }).waitFor();
      await sheet.getByRole('button', { name: 'Close Context' }).click();
      await sheet.waitFor({ state: 'detached' });
      await v.page.getByRole('button', { name: 'What fills the window' }).click();
      await sheet.getByRole('link', { name: 'REPORT.md' }).click();
      await v.page.getByRole('button', { name: 'Conversation', exact: true }).click();
      await v.page.locator('.user-turn').first().waitFor();
      expect(await sheet.count()).toBe(0);
      expect(v.page.url()).toMatch(/#\/s\/a$/);
    });
  });

  it('Enter makes a new line, and the button sends', async () => {
    await visiting({ ...phone, hasTouch: true, isMobile: true }, async (v) => {
      await v.open();
      const field = v.page.getByRole('textbox', { name: 'Message' });
      await field.fill('one');
      await field.press('Enter');
      await field.pressSequentially('two');
      expect(await field.inputValue()).toBe('one\ntwo');
      await v.page.getByRole('button', { name: 'Send' }).click();
      await v.page.locator('.user-turn', { hasText: 'two' }).waitFor();
    });
  });

  it('text has the size that the user has set', async () => {
    await visiting(phone, async (v) => {
      v.backend.seed('long', longSession);
      await v.open('long');
      const sizes = `['body', '.worth', '.tag', '.button', '.fold-line'].map((name) => parseFloat(getComputedStyle(document.querySelector(name)).fontSize))`;
      const before = await evaluate<number[]>(v.page, sizes);
      await v.page.evaluate(`document.documentElement.style.fontSize = '200%'`);
      expect(await evaluate(v.page, sizes)).toEqual(before.map((size) => size * 2));
      const overflow = 'document.documentElement.scrollWidth - innerWidth';
      expect(await evaluate(v.page, overflow)).toBeLessThanOrEqual(0);
      await v.picture('390-light-large');
    });
  });

  it('a field does not make the browser zoom, and a symbol has words', async () => {
    await visiting({ ...phone, hasTouch: true, isMobile: true }, async (v) => {
      v.backend.seed('long', longSession);
      await v.open('long');
      await v.page.getByText('Compact up to here').last().waitFor();
      const sizes = `[...document.querySelectorAll('input, textarea')].map((field) => parseFloat(getComputedStyle(field).fontSize))`;
      const look = async (count: number) => {
        const found = await evaluate<number[]>(v.page, sizes);
        expect(found.length).toBeGreaterThanOrEqual(count);
        expect(Math.min(...found)).toBeGreaterThanOrEqual(16);
      };
      await look(1);
      await v.page.getByRole('button', { name: 'What fills the window' }).click();
      await v.page.getByRole('spinbutton').waitFor();
      await look(2);
      await v.page.getByRole('button', { name: 'Close Context' }).click();
      await v.page.getByRole('button', { name: 'Conversations' }).click();
      await v.page.getByRole('searchbox').waitFor();
      await look(2);
    });
  });

  it('the title of a question that is higher than the view stays in view', async () => {
    await visiting({ viewport: { width: 844, height: 390 }, hasTouch: true, isMobile: true }, async (v) => {
      v.backend.seed('asking', (stage) => asking(stage, 'Publish it'));
      await v.open('asking');
      await expect.poll(() => shareInView(v.page.locator('.approval h2').last())).toBe(1);
      await v.picture('844-light-approval');
    });
  });

  it('a finger hits every button, and what is read has about half of a low screen or more', async () => {
    const low = { viewport: { width: 844, height: 390 }, hasTouch: true, isMobile: true };
    await visiting(low, async (v) => {
      v.backend.seed('long', longSession);
      await v.open('long');
      await v.page.locator('[data-fold="counted"]').waitFor();
      const targets = `[...document.querySelectorAll('button, a, input')].map((one) => [one.textContent || one.ariaLabel, one.getBoundingClientRect().height])`;
      for (const [name, height] of await evaluate<[string, number][]>(v.page, targets))
        expect(height, name).toBeGreaterThanOrEqual(24);
      const read = await v.page.locator('.conversation-scroll').boundingBox();
      // The heights of fonts differ between machines by a few pixels.
      expect(read?.height).toBeGreaterThan(390 * 0.48);
    });
    await visiting({ viewport: { width: 390, height: 300 } }, async (v) => {
      await v.open();
      const view = `document.querySelector('.conversation-scroll')`;
      await evaluate(v.page, `${view}.scrollTop = 0`);
      const above = `${view}.getBoundingClientRect().top - document.querySelector('.empty h2').getBoundingClientRect().top`;
      expect(await evaluate(v.page, above), 'nothing is cut off above').toBeLessThanOrEqual(0);
    });
  });
});

it('Back closes a dialog, then a place in the panel, beside the conversation', async () => {
  await visiting({}, async (v) => {
    v.backend.seed('a', longSession);
    await v.open('a');
    const now = v.page.getByRole('button', { name: 'What the model sees now' });
    for (const leave of [
      () => v.page.goBack(),
      () => v.page.getByRole('button', { name: 'Latest' }).click(),
    ]) {
      await v.page.locator('.reply-figures').last().click();
      await v.page.getByRole('region', { name: /^Request \d+$/ }).waitFor();
      await v.page.keyboard.press('?');
      await v.page.getByRole('dialog', { name: 'Keys' }).waitFor();
      await v.page.goBack();
      await v.page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
      expect(await now.count()).toBe(0);
      await leave();
      await now.waitFor();
      await expect.poll(() => v.page.url()).toMatch(/#\/s\/a$/);
    }
    await v.page.locator('.reply-figures').last().click();
    await v.page.getByRole('link', { name: 'REPORT.md' }).click();
    await v.page.getByRole('heading', { name: 'REPORT.md' }).waitFor();
  });
});

describe('by keyboard', () => {
  it('one writes, moves between turns, opens them and the panel', async () => {
    await visiting({}, async (v) => {
      v.backend.seed('long', longSession);
      await v.open('long');
      const focused = 'document.activeElement.className';
      await v.page.keyboard.press('k');
      await expect.poll(() => evaluate(v.page, focused)).toContain('agent-turn');
      await v.page.keyboard.press('k');
      await expect.poll(() => evaluate(v.page, focused)).toContain('user-turn');
      await v.page.keyboard.press('k');
      await expect.poll(() => evaluate(v.page, focused)).toContain('compaction');
      await v.page.keyboard.press('o');
      await v.page.locator('.compaction-details').waitFor();
      await v.page.keyboard.press('o');
      await expect.poll(() => v.page.locator('.compaction-details').count()).toBe(0);
      await v.page.keyboard.press('j');
      await expect.poll(() => evaluate(v.page, focused)).toContain('user-turn');
      await v.page.keyboard.press('c');
      await expect.poll(() => v.page.locator('.panel').count()).toBe(0);
      await v.page.keyboard.press('c');
      await expect.poll(() => v.page.locator('.panel').count()).toBe(1);
      await v.page.keyboard.press('/');
      await v.page.keyboard.type('jk');
      await expect.poll(() => v.page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('jk');
      await v.page.keyboard.press('Escape');
      await v.page.keyboard.press('n');
      await v.page.locator('.empty').waitFor();
    });
  });

  it('the focus is always to be seen', async () => {
    await visiting({}, async (v) => {
      v.backend.seed('s', (stage) => chat(stage, 'How?'));
      await v.open('s');
      const focus = `(() => {
        const element = document.activeElement;
        const around = element.closest('.composer, .search') ?? element;
        const outlines = getComputedStyle(element).outlineStyle + getComputedStyle(around).outlineStyle;
        return { name: element.className || element.tagName, seen: /solid|auto/.test(outlines) };
      })()`;
      const focused: string[] = [];
      while (focused.at(-1) !== 'BODY') {
        await v.page.keyboard.press('Tab');
        const { name, seen } = await evaluate<{ name: string; seen: boolean }>(v.page, focus);
        if (name !== 'BODY') expect(seen, name).toBe(true);
        focused.push(name);
      }
      expect(focused.length).toBeGreaterThan(8);
    });
  });
});

describe('to a screen reader', () => {
  it('an answer is told once, as a whole, and what happens in words', async () => {
    await visiting({}, async (v) => {
      v.backend.seed('s', (stage) => chat(stage, 'How?'));
      await v.open('s');
      v.backend.hold('mid-stream');
      await v.page.evaluate(`
        var told = [];
        const live = document.querySelector('[aria-live="polite"]');
        new MutationObserver(() => told.push(live.textContent)).observe(live, { childList: true, characterData: true, subtree: true });
      `);
      await v.page.getByRole('textbox', { name: 'Message' }).fill('And why?');
      await v.enter();
      // Each announcement replaces the one before, so all are kept here.
      const told = () => evaluate<string>(v.page, 'told.join(" ")');
      await v.page.locator('.agent-turn[aria-busy="true"] li').first().waitFor();
      expect(await told()).toBe('');
      v.backend.release('mid-stream');
      await expect.poll(told).toMatch(/^A compaction is a cascade: stages run in order.* Reply complete\.$/s);
    });
  });
});

describe('the page as a whole', () => {
  it('weighs less than 250 KB over the wire', () => {
    const root = inject('webRoot');
    const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    const bytes = files.map(({ parentPath, name }) => gzipSync(readFileSync(join(parentPath, name))).length);
    expect(bytes.length).toBeGreaterThan(3);
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(250_000);
  });

  it('is there at once: its scripts weigh less than 80 KB over the wire', () => {
    const root = inject('webRoot');
    const scripts = readdirSync(join(root, 'assets')).filter((name) => name.endsWith('.js'));
    const weight = scripts.reduce(
      (sum, name) => sum + gzipSync(readFileSync(join(root, 'assets', name))).length,
      0,
    );
    expect(weight).toBeGreaterThan(10_000);
    expect(weight).toBeLessThan(80_000);
  });

  it('moves nothing for those who want no motion', async () => {
    const duration = async (v: Visit) => {
      await v.page.locator('.gauge-part').first().waitFor({ state: 'attached' });
      return evaluate(v.page, `getComputedStyle(document.querySelector('.gauge-part')).transitionDuration`);
    };
    await visiting({ reducedMotion: 'reduce' }, async (v) => {
      v.backend.seed('long', longSession);
      await v.open('long');
      await expect.poll(() => duration(v)).toMatch(/^0s/);
    });
    await visiting({ reducedMotion: 'no-preference' }, async (v) => {
      v.backend.seed('long', longSession);
      await v.open('long');
      await expect.poll(() => duration(v)).toMatch(/^0.2s/);
    });
  });
});
