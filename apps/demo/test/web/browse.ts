import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { inject } from 'vitest';
import { createServer, type DemoServer } from '../../src/server/server.js';
import { FakeBackend } from '../fake-backend/fake-backend.js';

const screenshots = fileURLToPath(new URL('../.screenshots/', import.meta.url));
mkdirSync(screenshots, { recursive: true });

/** The page in a browser, over a server with scripted sessions. */
export interface Visit {
  readonly backend: FakeBackend;
  readonly page: Page;
  readonly url: string;
  readonly server: DemoServer;
  /** What the browser complained of: errors, refused content, failed requests. */
  readonly complaints: readonly string[];
  /** From now on a complaint with these words is as it should be. */
  expectComplaints(words: string): void;
  /** Opens a session that the backend has, or the empty page. */
  open(sessionId?: string): Promise<void>;
  /** Sends what stands in the composer with Enter, once what was sent before has been answered: earlier it would do nothing. */
  enter(): Promise<void>;
  /** Leaves a picture for people. */
  picture(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Only against what never comes, so that a machine ten times slower than a laptop passes. */
const TIMEOUT = 120_000;

export function launch(): Promise<Browser> {
  return chromium.launch({
    timeout: TIMEOUT,
    executablePath: inject('chromiumPath'),
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Starts a server of its own and a page that looks at it; 1280 × 800 and light unless told. */
export async function visit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const backend = new FakeBackend();
  const server = createServer({ backend, webRoot: inject('webRoot'), port: 0, heartbeatMs: 1_000 });
  const url = await server.listen();
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: 'UTC',
    ...options,
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(url).origin });
  context.setDefaultTimeout(TIMEOUT);
  const page = await context.newPage();
  const complaints: string[] = [];
  const expected: string[] = [];
  const complain = (text: string) => {
    if (!expected.some((words) => text.includes(words))) complaints.push(text);
  };
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complain(message.text());
  });
  page.on('pageerror', (error) => complain(error.message));
  return {
    backend,
    page,
    url,
    server,
    complaints,
    expectComplaints: (words) => void expected.push(words),
    async open(sessionId) {
      await page.goto(sessionId === undefined ? url : `${url}#/s/${sessionId}`);
      // What the user said in that session: another one that was open stands there until the address is read.
      const there =
        sessionId === undefined ? '.empty-starters button' : `[data-messages^="${sessionId}-user-"]`;
      await page.locator(there).first().waitFor();
    },
    async enter() {
      await page.locator('.composer:not(:has(.composer-stop)) .composer-send:enabled').waitFor();
      await page.getByRole('textbox', { name: 'Message' }).press('Enter');
    },
    async picture(name) {
      await page.screenshot({ path: `${screenshots}${name}.png` });
    },
    async close() {
      await context.close();
      await server.close();
    },
  };
}

/** What an expression in the page is worth. */
export function evaluate<Value>(page: Page, expression: string): Promise<Value> {
  return page.evaluate(expression) as Promise<Value>;
}

/** What people read there. */
export function textIn(locator: Locator): Promise<string> {
  // biome-ignore lint/performance/useDomNodeTextContent: text as it is laid out, without what is hidden.
  return locator.innerText();
}
