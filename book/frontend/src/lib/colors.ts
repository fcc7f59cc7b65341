/** Colours of the classes and fields, read from the style sheet so that both themes have their own. */
export type Rgb = [number, number, number];

let held = new Map<string, Rgb>();
export function forget(): void {
  held = new Map();
}

export function rgb(name: string): Rgb {
  const found = held.get(name);
  if (found) return found;
  const text = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const hex = text.replace('#', '');
  const parsed: Rgb = [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) || 0) as Rgb;
  held.set(name, parsed);
  return parsed;
}

export const CLASSES = 8;
export function css(name: string | number | undefined): string {
  if (name === undefined) return 'var(--ink)';
  if (typeof name === 'number') return name < 0 ? 'var(--none)' : `var(--c${Math.round(name) % CLASSES})`;
  return `var(--${name})`;
}

function mix(a: Rgb, b: Rgb, t: number): Rgb {
  return [0, 1, 2].map((i) => a[i] + (b[i] - a[i]) * t) as Rgb;
}

/** A colour for a byte of a field: signed ones between two classes, others from paper to ink. */
export function scale(signed: boolean, colors?: string): (byte: number) => Rgb {
  const paper = rgb('plot');
  if (signed) {
    const [low, high] = [rgb('c0'), rgb('c1')];
    return (byte) => {
      const t = (byte - 127.5) / 127.5;
      return mix(paper, t < 0 ? low : high, 0.62 * Math.min(1, Math.abs(t)) ** 0.7);
    };
  }
  const top = rgb(colors === 'grey' ? 'ink' : (colors ?? 'accent'));
  return (byte) => mix(paper, top, (colors === 'grey' ? 1 : 0.85) * (byte / 255));
}
