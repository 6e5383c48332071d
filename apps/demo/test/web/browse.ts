import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type Browser,
  type BrowserContextOptions,
  type ConsoleMessage,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
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
  /** Leaves a picture for people, where `PICTURES` is set. */
  picture(name: string): Promise<void>;
  /** Stops the clock of the page. */
  setTime(time: Date): Promise<void>;
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
      // One process draws all pages, because starting one for each visit takes as long as many tests.
      '--disable-site-isolation-trials',
      '--process-per-site',
      '--renderer-process-limit=1',
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

/**
 * Pages that were visited, by how they were opened: to open one takes longer than most tests. What a page stores belongs to
 * the address of its server, and each visit has a server of its own.
 */
const visited = new WeakMap<Browser, Map<string, Page>>();

async function openPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: 'UTC',
    ...options,
  });
  context.setDefaultTimeout(TIMEOUT);
  return context.newPage();
}

/** Starts a server of its own and a page that looks at it; 1280 × 800 and light unless told. */
export async function visit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const backend = new FakeBackend();
  const server = createServer({ backend, webRoot: inject('webRoot'), port: 0, heartbeatMs: 1_000 });
  const address = await server.listen();
  const url = new URL('/', address).href;
  const pages = visited.get(browser) ?? new Map<string, Page>();
  visited.set(browser, pages);
  const opened = JSON.stringify(options);
  const page = pages.get(opened) ?? (await openPage(browser, options));
  // Whoever visits meanwhile has another.
  pages.delete(opened);
  const context = page.context();
  // Leaves the cookie, as the address that is printed does.
  await page.request.get(address);
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(url).origin });
  const complaints: string[] = [];
  const expected: string[] = [];
  const complain = (text: string) => {
    if (!expected.some((words) => text.includes(words))) complaints.push(text);
  };
  const onConsole = (message: ConsoleMessage) => {
    if (['error', 'warning'].includes(message.type())) complain(message.text());
  };
  const onError = (error: Error) => complain(error.message);
  page.on('console', onConsole).on('pageerror', onError);
  let isTimeSet = false;
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
      const there = sessionId === undefined ? '.empty button' : `[data-messages^="${sessionId}-user-"]`;
      await page.locator(there).first().waitFor();
    },
    async enter() {
      await page.locator('.composer:not(:has(.composer-stop)) .composer-send:enabled').waitFor();
      await page.getByRole('textbox', { name: 'Message' }).press('Enter');
    },
    async picture(name) {
      if (process.env.PICTURES) await page.screenshot({ path: `${screenshots}${name}.png` });
    },
    async setTime(time) {
      isTimeSet = true;
      await page.clock.setFixedTime(time);
    },
    async close() {
      page.off('console', onConsole).off('pageerror', onError);
      // A clock that was stopped stays so.
      if (isTimeSet) await context.close();
      else {
        await Promise.all(context.pages().map((other) => other !== page && other.close()));
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await page.emulateMedia({ colorScheme: options.colorScheme ?? 'light' });
        await page.goto('about:blank');
        pages.set(opened, page);
      }
      await server.close();
    },
  };
}

/** What an expression in the page is worth. */
export function evaluate<Value>(page: Page, expression: string): Promise<Value> {
  return page.evaluate(expression) as Promise<Value>;
}

declare const IntersectionObserver: new (
  see: (entries: readonly { readonly intersectionRatio: number }[]) => void,
) => { observe(element: unknown): void };

/** The share of an element that can be seen without scrolling. */
export function shareInView(locator: Locator): Promise<number> {
  return locator.evaluate(
    (element) =>
      new Promise<number>((resolve) => {
        new IntersectionObserver(([seen]) => resolve(seen?.intersectionRatio ?? 0)).observe(element);
      }),
  );
}

/** What people read there. */
export function textIn(locator: Locator): Promise<string> {
  // biome-ignore lint/performance/useDomNodeTextContent: text as it is laid out, without what is hidden.
  return locator.innerText();
}
