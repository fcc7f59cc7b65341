/** The address: #/page/scene?control=value&preset=name&t=frame&d=points. All state of a page is in it. */
import type { Point } from './types';

export interface Route { parts: string[]; query: URLSearchParams }

export function read(): Route {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  return { parts, query: new URLSearchParams(query ?? '') };
}

export function href(parts: string[], query: Record<string, string> = {}): string {
  const tail = new URLSearchParams(query).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${tail ? `?${tail}` : ''}`;
}

/** Change the address without a new entry in the history. */
export function replace(parts: string[], query: Record<string, string>): void {
  // a frame inside a notebook has no address of its own
  if (location.protocol !== 'about:') history.replaceState(null, '', href(parts, query));
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_';
const SIDE = 6, STEPS = 4095, LOWEST = -3;

/** Coordinates as the address holds them: 4095 steps from -3 to 3; others keep three decimals. */
export function snap(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Points as text: five letters each inside the square and for classes up to 9, plain numbers otherwise. */
export function pack(points: Point[]): string {
  const inside = points.every(([x, y, c]) => Math.abs(x) <= 3 && Math.abs(y) <= 3 && c <= 9);
  if (!inside) return '~' + points.map(([x, y, c]) => `${x},${y},${c}`).join('~');
  const letter = (value: number) => {
    const n = Math.round(((value - LOWEST) / SIDE) * STEPS);
    return DIGITS[n >> 6] + DIGITS[n & 63];
  };
  return points.map(([x, y, c]) => letter(x) + letter(y) + c).join('');
}

export function unpack(text: string): Point[] {
  if (text.startsWith('~')) {
    return text.slice(1).split('~').filter(Boolean).map((row) => {
      const [x, y, c] = row.split(',').map(Number);
      return [x, y, c || 0];
    });
  }
  const value = (a: string, b: string) =>
    snap(LOWEST + ((DIGITS.indexOf(a) * 64 + DIGITS.indexOf(b)) / STEPS) * SIDE);
  const points: Point[] = [];
  for (let i = 0; i + 5 <= text.length; i += 5) {
    points.push([value(text[i], text[i + 1]), value(text[i + 2], text[i + 3]), Number(text[i + 4]) || 0]);
  }
  return points;
}
