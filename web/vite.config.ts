import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

// The server renders the pages; this builds the scripts and styles they load (src/http/pages/assets.ts).
export default defineConfig({
  root: here('.'),
  publicDir: false,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    manifest: true,
    // Browsers of the last two years.
    target: ['chrome128', 'firefox128', 'safari17.5'],
    modulePreload: { polyfill: false },
    // Assets stay files, which the server caches and compresses.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: {
        'before-paint': here('site/before-paint.ts'),
        site: here('site/styles/site.css'),
        inbox: here('inbox/inbox.tsx'),
        pricing: here('shop/pricing.tsx'),
        order: here('shop/order.tsx'),
        pay: here('shop/pay.tsx'),
        key: here('key/key.tsx'),
        docs: here('docs/docs.tsx'),
        admin: here('admin/admin.tsx'),
        leave: here('site/leave.tsx'),
        'service-worker': here('site/service-worker.ts'),
      },
    },
  },
})
