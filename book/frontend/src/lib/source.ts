/** Where pages and fits come from: the local server, a notebook's kernel, or the recordings of an exported book. */
import { askKernel, kernel } from './kernel';
import type { Book, Choice, Costs, Page, Recording, Request, Thumbnail } from './types';

interface Exported { page: Page; runs: Record<string, Recording>; costs: Costs }
interface Static { book: Book; choose: Choice; single?: string; thumbnails?: Record<string, Thumbnail>; data: Record<string, string> }
declare global {
  interface Window { KILOGRAM_EXPORT?: Static; kilogramPage?: (slug: string, packed: string) => void }
}

const exported = window.KILOGRAM_EXPORT;
export const live = !exported;
export const single = exported?.single ?? kernel?.slug;
const tab = Math.random().toString(36).slice(2);
const STOPPED = 'The server has stopped. Start it again with kg book; what you see here is kept.';

export async function book(): Promise<Book> {
  return exported ? exported.book : get<Book>('book');
}

export async function choose(): Promise<Choice> {
  return exported ? exported.choose : get<Choice>('choose');
}

export async function page(slug: string): Promise<Page> {
  return exported ? (await unpacked(slug)).page : get<Page>(`page/${encodeURIComponent(slug)}`);
}

export async function costs(slug: string): Promise<Costs> {
  return exported ? (await unpacked(slug)).costs : get<Costs>(`cost/${encodeURIComponent(slug)}`);
}

export async function thumbnail(slug: string): Promise<Thumbnail | null> {
  return exported ? (exported.thumbnails?.[slug] ?? null) : get<Thumbnail>(`thumbnail/${encodeURIComponent(slug)}`);
}

export function key(request: Request): string {
  const parts = Object.keys(request.controls).sort().map((name) => `${name}=${request.controls[name]}`);
  return [request.scene, request.preset, ...parts].join('|');
}

/** The recording, or null if a newer request of this tab has replaced this one. */
export async function run(slug: string, request: Request): Promise<Recording | null> {
  if (exported) {
    const found = (await unpacked(slug)).runs[key(request)];
    if (!found) throw new Error('This combination was not recorded. Open the page with kg book to run it.');
    return found;
  }
  if (kernel) return checked(await askKernel<Recording>('run', request));
  const body = JSON.stringify({ ...request, tab });
  let reply: Response;
  try {
    reply = await fetch('api/run', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
  } catch {
    throw new Error(STOPPED);
  }
  return reply.status === 409 ? null : checked((await reply.json()) as Recording);
}

function checked<T extends { error?: string }>(found: T): T {
  if (found.error) throw new Error(found.error);
  return found;
}

async function get<T>(path: string): Promise<T> {
  if (kernel) return checked(await askKernel<T & { error?: string }>(path));
  let reply: Response;
  try {
    reply = await fetch(`api/${path}`);
  } catch {
    throw new Error(STOPPED);
  }
  return checked((await reply.json()) as T & { error?: string });
}

const packs = new Map<string, Promise<Exported>>();

function unpacked(slug: string): Promise<Exported> {
  const held = packs.get(slug);
  if (held) return held;
  const found = pack(slug).then(unzip);
  packs.set(slug, found);
  return found;
}

/** The compressed page: in this file, or in a script beside it (file:// allows no fetch). */
function pack(slug: string): Promise<string> {
  const here = exported!.data[slug];
  if (here) return Promise.resolve(here);
  return new Promise((resolve, reject) => {
    window.kilogramPage = (name, packed) => {
      exported!.data[name] = packed;
      if (name === slug) resolve(packed);
    };
    const script = document.createElement('script');
    script.src = `data/${slug}.js`;
    script.onerror = () => reject(new Error(`This copy of the book has no page called ${slug}.`));
    document.head.append(script);
  });
}

async function unzip(packed: string): Promise<Exported> {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text()) as Exported;
}
