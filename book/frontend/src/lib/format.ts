/** A hyphen before a number is a minus. */
export function minus(text: string): string {
  return text.replace(/(^|[\s(=,])-(?=[\d.])/g, '$1−');
}

/** Numbers and words as the page shows them. */
export function show(value: unknown): string {
  if (value === null || value === undefined) return 'not defined';
  if (typeof value !== 'number') return minus(String(value)).replace(/ %$/, '\u00a0%');
  if (Number.isInteger(value)) return minus(value.toLocaleString('en-GB').replace(/,/g, ' '));
  const size = Math.abs(value);
  if (size >= 10000 || size < 0.001) return minus(value.toExponential(2)).replace('e', ' × 10^').replace('+', '').replace(/\^(-?\d+)/, (_, n: string) => superscript(n));
  return minus(String(Number(value.toPrecision(4))));
}

/** Seconds in the unit that a reader would use. */
export function seconds(value: number): string {
  const units: [number, string][] = [[31557600, 'years'], [86400, 'days'], [3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms']];
  const [size, unit] = units.find(([s]) => value >= 2 * s) ?? [1e-3, 'ms'];
  return `${show(Number((value / size).toPrecision(2)))} ${unit}`;
}

/** Bytes in the unit that a reader would use. */
export function bytes(value: number): string {
  const units: [number, string][] = [[1e15, 'PB'], [1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']];
  const [size, unit] = units.find(([s]) => value >= s) ?? [1, 'B'];
  return `${show(Number((value / size).toPrecision(2)))} ${unit}`;
}

function superscript(digits: string): string {
  return [...digits].map((d) => (d === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(d)])).join('');
}

export interface Token { text: string; kind: '' | 'comment' | 'string' | 'keyword' | 'number' | 'name' }
const PYTHON =
  /("""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(#[^\n]*)|\b(def|return|yield|for|in|if|elif|else|while|import|from|as|lambda|not|and|or|is|None|True|False|break|continue|raise|with|class|pass)\b|\b(\d+(?:\.\d+)?(?:e-?\d+)?)\b/g;

/** The lines of Python code as coloured pieces. */
export function highlight(code: string): Token[][] {
  const lines: Token[][] = [[]];
  const add = (text: string, kind: Token['kind']) => {
    text.split('\n').forEach((piece, i) => {
      if (i) lines.push([]);
      if (piece) lines[lines.length - 1].push({ text: piece, kind });
    });
  };
  let last = 0;
  for (const found of code.matchAll(PYTHON)) {
    add(code.slice(last, found.index), '');
    add(found[0], found[1] ? 'string' : found[2] ? 'comment' : found[3] ? 'keyword' : 'number');
    last = found.index + found[0].length;
  }
  add(code.slice(last), '');
  return lines;
}

/** Prose with `code` and powers such as n^2 in it. */
export function pieces(text: string): { text: string; tag: 'code' | 'sup' | '' }[] {
  const found = text.split('`').flatMap((piece, i): { text: string; tag: 'code' | 'sup' | '' }[] =>
    i % 2 ? [{ text: piece, tag: 'code' }] : piece.split(/\^(\d+)/).map((part, j) => ({ text: part, tag: j % 2 ? 'sup' : '' })));
  return found.filter((piece) => piece.text);
}

/** Points of a pasted or chosen CSV: two numeric columns and, where there is one, a class or the number of a row. */
export function readCsv(text: string, classes: number, numbered = false): [number, number, number][] {
  const rows = text.split(/\r?\n/).map((row) => row.trim()).filter(Boolean);
  const cells = rows.map((row) => row.split(/[,;\t]|\s+/).map((cell) => cell.trim()).filter(Boolean));
  const body = cells.length && cells[0].some((cell) => Number.isNaN(Number(cell))) ? cells.slice(1) : cells;
  if (!body.length || body.some((row) => row.length < 2))
    throw new Error('This file is no table: each row needs at least two numbers.');
  const names: string[] = [];
  const points = body.map((row, i) => {
    const [x, y] = [Number(row[0]), Number(row[1])];
    if (!Number.isFinite(x) || !Number.isFinite(y))
      throw new Error(`Row ${i + 1} of the file has no number where one is needed: "${row.slice(0, 2).join(', ')}".`);
    if (numbered) {
      const number = Number(row[2] ?? 0);
      return [x, y, Number.isInteger(number) && number >= 0 && number < classes ? number : 0] as [number, number, number];
    }
    let c = row.length > 2 ? names.indexOf(row[2]) : 0;
    if (c < 0) c = names.push(row[2]) - 1;
    return [x, y, c] as [number, number, number];
  });
  if (names.length > Math.max(classes, 1) && classes > 1)
    throw new Error(`The third column has ${names.length} classes; this page takes at most ${classes}.`);
  if (points.length > 1000) throw new Error(`A page takes at most 1000 points; the file has ${points.length}.`);
  return numbered ? points : standardised(points.map(([x, y, c]) => [x, y, classes > 1 ? c : 0]));
}

/** Columns that leave the square are brought into it, and the page says so. */
function standardised(points: [number, number, number][]): [number, number, number][] {
  if (points.every(([x, y]) => Math.abs(x) <= 3 && Math.abs(y) <= 3)) return points;
  const column = (j: 0 | 1) => {
    const values = points.map((p) => p[j]);
    const [lo, hi] = [Math.min(...values), Math.max(...values)];
    return (v: number) => Math.round((hi > lo ? -2.7 + (5.4 * (v - lo)) / (hi - lo) : 0) * 1000) / 1000;
  };
  const [fx, fy] = [column(0), column(1)];
  return points.map(([x, y, c]) => [fx(x), fy(y), c]);
}
