import { provide } from './provide.js';
import { existing, type Service } from './service.js';

/**
 * A browser for playwright-core, which does not include one. It starts the browser at `executablePath`. A headless shell is preferred, because
 * it needs a third less CPU time than the whole browser.
 */
export const chromium: Service = {
  name: 'Chromium',
  variable: 'CHROMIUM_PATH',
  example: '/usr/bin/chromium',
  programs: [
    'chromium-headless-shell',
    'chrome-headless-shell',
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  debianPackages: ['chromium-headless-shell'],
  homebrewFormula: '--cask google-chrome',
  fromProgram: async (path) => existing(path),
};

export default provide('chromiumPath', chromium);
