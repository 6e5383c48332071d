import type { JsonValue } from '@x/core';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { asking, chat } from '../fake-backend/scenarios.js';
import { evaluate, launch, textIn, type Visit, visit } from './browse.js';

let browser: Browser;
let v: Visit;

beforeAll(async () => {
  browser = await launch();
});
afterAll(() => browser.close());
beforeEach(async () => {
  v = await visit(browser);
  v.backend.seed('s', (stage) => asking(stage, 'Publish it'));
  await v.open('s');
});
afterEach(async () => {
  await v.close();
  expect(v.complaints).toEqual([]);
});

/** The question about a call, by the beginning of what the call wants. */
const card = (wants: string) => v.page.getByRole('article', { name: `It wants to ${wants}` });
const notices = () => v.page.locator('.notice').allTextContents();

describe('a call that waits for approval', () => {
  it('says what and why, and is still there after a reload', async () => {
    for (const _ of [1, 2]) {
      await card('run').getByText('No rule allows this.').waitFor();
      await expect.poll(() => card('run').locator('pre').textContent()).toContain('git push origin main');
      await expect.poll(() => v.page.locator('.tool-call', { hasText: 'waits for you' }).count()).toBe(2);
      await v.page.reload();
    }
    await card('replace').waitFor();
  });

  it.each([1280, 390])('has the focus and is announced when it is opened, at %d px', async (width) => {
    await v.page.setViewportSize({ width, height: 800 });
    v.backend.seed('a', (stage) => chat(stage, 'How?'));
    await v.open('a');
    if (width === 390) await v.page.getByRole('button', { name: 'Conversations' }).click();
    await v.page.getByRole('link', { name: /Publish it/ }).click();
    await v.page.locator('[aria-live="polite"]', { hasText: 'It waits for your decision.' }).waitFor();
    await v.page.locator('.approval:focus', { hasText: 'git push' }).waitFor();
    await v.page.setViewportSize({ width: 1280, height: 800 });
  });

  it('is allowed, always, with the keyboard alone', async () => {
    await expect
      .poll(() => evaluate(v.page, 'document.activeElement.getAttribute("aria-label")'))
      .toBe('It wants to run git push origin main');
    await v.page.keyboard.press('Tab');
    await v.page.keyboard.press('Tab');
    await v.page.keyboard.press('Tab');
    await v.page.keyboard.press('Tab');
    await expect.poll(() => evaluate(v.page, 'document.activeElement.textContent')).toBe('Always');
    await v.page.keyboard.press('Enter');
    await card('run').waitFor({ state: 'detached' });
    await expect
      .poll(notices)
      .toEqual(['You allowed it to run git push origin main, and calls like this one from now on.']);
    await expect.poll(() => card('replace').count()).toBe(1);
  });

  it('is decided in words for a screen reader, and the focus goes to the end of the conversation', async () => {
    const region = `document.querySelector('[aria-live="polite"]')`;
    const changes = '{ childList: true, characterData: true, subtree: true }';
    // The next announcement may replace this one soon.
    await evaluate(
      v.page,
      `window.spoken = []; new MutationObserver(() => window.spoken.push(${region}.textContent)).observe(${region}, ${changes})`,
    );
    await card('run').getByRole('button', { name: 'Deny' }).press('Enter');
    await expect
      .poll(async () => (await evaluate<readonly string[]>(v.page, 'window.spoken')).join(' '))
      .toContain('You did not allow it to run git push origin main.');
    await card('run').waitFor({ state: 'detached' });
    expect(await evaluate(v.page, 'document.activeElement.ariaLabel')).toBe('End of the conversation');
  });

  it('is denied, and the agent goes on when nothing waits any more', async () => {
    for (const name of ['run', 'replace']) {
      await card(name).getByRole('button', { name: 'Deny' }).click();
      await card(name).waitFor({ state: 'detached' });
    }
    await v.page.locator('.agent-turn', { hasText: 'I went on with what you decided.' }).waitFor();
    const call = v.page.locator('.tool-call', { hasText: 'execute' });
    await expect.poll(() => textIn(call)).toContain('not run');
    expect(await v.page.locator('.tool-failed').count(), 'what the user decided is no failure').toBe(0);
    await call.locator('.fold-line').click();
    await call
      .locator('figure', { hasText: 'The model reads' })
      .getByText('The user denied this call')
      .waitFor();
  });
});

describe('what is asked for', () => {
  async function askedFor(name: string, input: JsonValue) {
    v.backend.seed('q', (stage) => stage.ask('May I?', [{ name, input, output: 'Done.' }]));
    await v.page.goto(`${v.url}#/s/q`);
    const asked = v.page.getByRole('article', { name: /^It wants to/ });
    await asked.waitFor();
    return asked.locator('.code-block');
  }

  it('is a command as itself, and beside it what else is passed', async () => {
    const blocks = await askedFor('execute', { command: 'rm -r dist', timeout_ms: 9 });
    await expect
      .poll(() => blocks.locator('pre').allTextContents())
      .toEqual(['rm -r dist\n', '{\n  "timeout_ms": 9\n}']);
    await expect
      .poll(() => blocks.locator('figcaption span:first-child').allTextContents())
      .toEqual(['Command', 'Other input']);
  });

  it('is a change of a file as a diff', async () => {
    const blocks = await askedFor('edit_file', { path: 'a.ts', oldText: 'one\ntwo', newText: 'one\nthree' });
    await expect
      .poll(() => blocks.locator('pre span').allTextContents())
      .toEqual(['one\n', '- two\n', '+ three\n']);
    await expect.poll(() => blocks.count()).toBe(1);
  });

  it('is what is written, however long the file was that it replaces', async () => {
    const lines = card('replace').locator('.code-block pre span');
    await expect.poll(() => lines.last().textContent()).toBe('+ Pushed.\n');
    await expect.poll(() => lines.nth(8).textContent()).toMatch(/^… \d{3,} more removed lines\n$/);
    await expect.poll(() => lines.count()).toBe(10);
  });

  it('is a file that it wants to create, when there is none yet', async () => {
    const blocks = await askedFor('write_file', { path: 'new.md', content: 'First.\n' });
    await expect.poll(() => blocks.locator('pre span').allTextContents()).toEqual(['+ First.\n']);
    await v.page.getByRole('article', { name: 'It wants to create new.md' }).waitFor();
  });

  it('is the input of any other tool, and of one of ours that lacks what it needs', async () => {
    for (const [name, input] of [
      ['deploy', { command: 'true', path: 'a.ts' }],
      ['execute', { command: ['rm', '-r'] }],
    ] as const) {
      const blocks = await askedFor(name, input as JsonValue);
      await expect
        .poll(() => blocks.locator('pre').textContent())
        .toBe(`${JSON.stringify(input, null, 2)}\n`);
      v.backend.remove('q');
      await v.open();
    }
  });

  it('is decided at once where several wait', async () => {
    await v.page.getByRole('button', { name: 'Deny all' }).click();
    await expect
      .poll(notices)
      .toEqual([
        'You did not allow it to run git push origin main.',
        'You did not allow it to write docs/release.md.',
      ]);
  });
});
