import { fileURLToPath } from 'node:url';
import preact from '@preact/preset-vite';
import { defineConfig } from 'vite';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** Builds the page. During development, `vite` serves it, and forwards requests for `/api` to the demo's server on port 4173. */
export default defineConfig({
  root: path('web'),
  plugins: [preact({ devToolsEnabled: false, prefreshEnabled: process.env.NODE_ENV !== 'production' })],
  resolve: { conditions: ['@x/source', 'module', 'browser', 'development|production'] },
  build: {
    outDir: path('dist/web'),
    emptyOutDir: true,
    target: 'es2022',
    // The page forbids inline scripts and styles, so nothing may be inlined but images.
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:4173' } },
});
