import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { asking, planning } from '../fake-backend/scenarios.js';
import { evaluate, launch, type Visit, visit } from './browse.js';

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

const card = (name: string) => v.page.getByRole('region', { name: `Approve ${name}?` });
const notices = () => v.page.locator('.notice').allTextContents();

describe('a call that waits for approval', () => {
  it('says what and why, and is still there after a reload', async () => {
    for (const _ of [1, 2]) {
      await card('execute').getByText('This may change something.').waitFor();
      await expect.poll(() => card('execute').locator('pre').textContent()).toContain('git push origin main');
      await expect.poll(() => v.page.locator('.tool-call', { hasText: 'waits for you' }).count()).toBe(2);
      await v.page.reload();
    }
    await card('write_file').waitFor();
  });

  it('is allowed, always, with the keyboard alone', async () => {
    await v.page.keyboard.press('k');
    await v.page.keyboard.press('k');
    await expect
      .poll(() => evaluate(v.page, 'document.activeElement.getAttribute("aria-label")'))
      .toBe('Approve execute?');
    await v.page.keyboard.press('Tab');
    await v.page.keyboard.press('Tab');
    await v.page.keyboard.press('Tab');
    await v.page.keyboard.press('Tab');
    await expect.poll(() => evaluate(v.page, 'document.activeElement.textContent')).toBe('Always');
    await v.page.keyboard.press('Enter');
    await card('execute').waitFor({ state: 'detached' });
    await expect.poll(notices).toEqual(['You allowed execute, and calls like this one from now on.']);
    await expect.poll(() => card('write_file').count()).toBe(1);
  });

  it('is run with another input; what is no JSON is refused at the field', async () => {
    await card('write_file').getByRole('button', { name: 'Edit input' }).click();
    const field = card('write_file').getByRole('textbox');
    await field.fill('{ "path": ');
    await card('write_file').getByRole('button', { name: 'Allow with this input' }).click();
    await card('write_file').getByRole('alert').getByText('This is no JSON').waitFor();
    await field.fill('{ "path": "docs/mine.md", "content": "Mine." }');
    await card('write_file').getByRole('button', { name: 'Allow with this input' }).click();
    await expect.poll(notices).toEqual(['You allowed write_file with another input.']);
  });

  it('is denied with a reason, and the agent goes on when nothing waits any more', async () => {
    for (const name of ['execute', 'write_file']) {
      await card(name).getByRole('button', { name: 'Deny' }).click();
      await v.page.keyboard.type('Not today.');
      // As long as the decision before is on its way, Enter does nothing.
      await card(name).locator('[type="submit"]:enabled').waitFor();
      await v.page.keyboard.press('Enter');
      await card(name).waitFor({ state: 'detached' });
    }
    await v.page.locator('.agent-turn', { hasText: 'I went on with what you decided.' }).waitFor();
    await v.page.locator('.tool-failed', { hasText: 'execute' }).locator('.fold-line').click();
    await v.page.getByText('The user denied this call: Not today.').first().waitFor();
  });
});

describe('what there is beside the conversation', () => {
  it('is plan and tasks, in the panel', async () => {
    v.backend.seed('p', (stage) => planning(stage, 'Plan it'));
    await v.open('p');
    const plan = v.page.getByRole('region', { name: 'Plan', exact: true });
    await plan.getByRole('button', { name: 'plans/s.md' }).click();
    await plan.getByText('Compare them').waitFor();
    await plan.getByRole('switch').click();
    await plan.getByText('Plan mode is off').waitFor();
    const tasks = v.page.getByRole('region', { name: 'Background tasks' });
    await expect
      .poll(() => tasks.locator('.task-status').allTextContents())
      .toEqual(['failed', 'running', 'done']);
    await tasks.getByRole('button', { name: 'Run the tests' }).click();
    await tasks.getByText('It may only read.').waitFor();
  });
});
