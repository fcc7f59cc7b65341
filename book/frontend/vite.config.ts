import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

// KaTeX names each font in three formats; every browser that runs this page reads woff2.
function woff2Only(): Plugin {
  return {
    name: 'woff2-only',
    enforce: 'pre',
    transform(code, id) {
      if (!id.includes('katex') || !id.endsWith('.css')) return;
      return code.replace(/,url\([^)]*\.(?:woff|ttf)\) format\("[a-z]+"\)/g, '');
    },
  };
}

// One classic script and one style sheet: modules cannot be loaded from file://.
export default defineConfig({
  plugins: [woff2Only(), svelte()],
  build: {
    outDir: '../../src/kilogram/book/static',
    emptyOutDir: true,
    assetsInlineLimit: 1 << 20,
    cssCodeSplit: false,
    target: 'es2022',
    lib: {
      entry: 'src/main.ts',
      formats: ['iife'],
      name: 'KilogramBook',
      fileName: () => 'app.js',
      cssFileName: 'app',
    },
  },
});
