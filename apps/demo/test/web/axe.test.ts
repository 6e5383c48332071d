import axe from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { asking, longSession, outage } from '../fake-backend/scenarios.js';
import { evaluate, launch, type Visit, visit } from './browse.js';

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly any: readonly { readonly message: string }[] }[];
}

const { source } = axe;

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());

/** What axe-core finds, and where, in both themes. These differ in nothing but colors. */
async function findings(v: Visit, state: string): Promise<readonly string[]> {
  await v.page.evaluate(source);
  const found: string[] = [];
  for (const [colorScheme, rules] of [
    ['light', undefined],
    ['dark', ['color-contrast']],
  ] as const) {
    await v.page.emulateMedia({ colorScheme });
    await v.picture(`${state}-${colorScheme}`);
    const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
    const violations = await evaluate<readonly Violation[]>(
      v.page,
      `axe.run(${options}).then(({ violations }) => violations)`,
    );
    for (const { id, nodes } of violations) {
      for (const { html, any } of nodes) {
        found.push(`${state}, ${colorScheme}: ${id} ${html} ${any[0]?.message ?? ''}`);
      }
    }
  }
  return found;
}

it.each([1280, 390])(
  'axe finds nothing in any state at %d px, light or dark',
  { timeout: 600_000 },
  async (width) => {
    const v = await visit(browser, { viewport: { width, height: 800 } });
    v.backend.seed('long', longSession);
    v.backend.seed('asking', (stage) => asking(stage, 'Publish it'));
    v.backend.seed('failed', (stage) => outage(stage, 'Which store loses a turn?'));
    const found: string[] = [];
    const look = async (state: string) => {
      found.push(...(await findings(v, `${width}-${state}`)));
      const overflow = 'document.documentElement.scrollWidth - innerWidth';
      expect(await evaluate(v.page, overflow), state).toBeLessThanOrEqual(0);
    };

    await v.open();
    await look('empty');
    await v.page.keyboard.press('?');
    await v.page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await look('keys');
    await v.page.keyboard.press('Escape');
    await v.open('long');
    await v.page.getByRole('button', { name: '2 earlier compactions' }).click();
    for (const line of await v.page.locator('.compaction > .fold > .fold-line').all()) await line.click();
    await v.page.locator('.compaction .request-row > .fold-line').nth(2).click();
    await look('compactions');
    for (const line of await v.page.locator('.tool-call > .fold-line').all()) await line.click();
    await look('tools');
    await v.open('asking');
    await look('approval');
    await v.page.getByRole('button', { name: 'Deny' }).last().click();
    await look('approval-forms');
    await v.open('failed');
    await look('failed');
    await v.open('long');
    if (width < 760) {
      await v.page.getByRole('button', { name: 'What fills the window' }).click();
      await look('sheet');
      await v.page.keyboard.press('Escape');
      await v.page.getByRole('button', { name: 'Conversations' }).click();
      await v.page.getByRole('searchbox').waitFor();
      await look('drawer');
      await v.page.keyboard.press('Escape');
    }

    const { places } = v.backend.transcript('long');
    await v.page.goto(`${v.url}#/s/long/${places.findIndex(({ compaction }) => compaction) + 1}`);
    await v.page.getByRole('region', { name: /^Compaction applied/ }).waitFor();
    await expect.poll(() => v.page.locator('.panel .request-row').count()).toBeGreaterThan(5);
    await v.page.locator('.panel .request-row').first().scrollIntoViewIfNeeded();
    await look('place');
    if (width < 760) await v.page.keyboard.press('Escape');
    await v.page.goto(`${v.url}#/file/REPORT.md`);
    await v.page.locator('.markdown').getByRole('heading').first().waitFor();
    await look('file');
    await v.close();
    expect(found).toEqual([]);
  },
);
