import { provide } from './provide.js';
import { existing, type Service } from './service.js';

/** A browser for playwright-core, which does not include one. It starts the browser at `executablePath`. */
export const chromium: Service = {
  name: 'Chromium',
  variable: 'CHROMIUM_PATH',
  example: '/usr/bin/chromium',
  programs: [
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  debianPackages: ['chromium'],
  homebrewFormula: '--cask google-chrome',
  fromProgram: async (path) => existing(path),
};

export default provide('chromiumPath', chromium);
