/** Requests to the kernel of a notebook, through the document around this frame (public/widget.js). */
declare global {
  interface Window { KILOGRAM_KERNEL?: { slug: string; scene: string } }
}

export const kernel = window.KILOGRAM_KERNEL;
const PATIENCE = 30000; // milliseconds: the kernel answers after the cell that it runs
const SILENT = 'The kernel does not answer: it is busy or has stopped. Wait for its cell, or run this cell again.';

interface Waiting { resolve: (text: string) => void; timer: ReturnType<typeof setTimeout> }
const waiting = new Map<string, Waiting>();
const view = Math.random().toString(36).slice(2); // other views of the widget have their own numbers
let asked = 0;

if (kernel)
  addEventListener('message', ({ source, data }: MessageEvent) => {
    if (source !== parent || data?.kilogram !== 'reply') return;
    const found = waiting.get(data.id);
    if (!found) return;
    clearTimeout(found.timer);
    waiting.delete(data.id);
    found.resolve(data.text);
  });

/** The reply of the kernel, as the server would give it. */
export async function askKernel<T>(path: string, body?: unknown): Promise<T> {
  const id = `${view}${asked++}`;
  const text = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.delete(id);
      reject(new Error(SILENT));
    }, PATIENCE);
    waiting.set(id, { resolve, timer });
    parent.postMessage({ kilogram: 'ask', request: { id, path, body: body ?? null } }, '*');
  });
  return JSON.parse(text) as T;
}
