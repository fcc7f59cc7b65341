/** Layers as SVG paths. */
import { contours } from 'd3-contour';
import type { ScaleLinear } from 'd3-scale';
import { bytes, fraction } from './paint';
import type { Layer, Num } from './types';

export type Scale = ScaleLinear<number, number>;

export function linePath(xs: Num[], ys: Num[], sx: Scale, sy: Scale): string {
  let path = '';
  let pen = false;
  xs.forEach((x, i) => {
    const y = ys[i];
    if (x == null || y == null) pen = false;
    else {
      path += `${pen ? 'L' : 'M'}${sx(x).toFixed(1)},${sy(y).toFixed(1)}`;
      pen = true;
    }
  });
  return path;
}

/** Separate straight pieces as one path. */
export function segmentsPath(layer: Extract<Layer, { kind: 'segments' }>, sx: Scale, sy: Scale): string {
  const { x1, y1, x2, y2 } = layer;
  return x1.map((x, i) => (x === null || x2[i] === null ? '' :
    `M${sx(x).toFixed(1)},${sy(y1[i]!).toFixed(1)}L${sx(x2[i]!).toFixed(1)},${sy(y2[i]!).toFixed(1)}`)).join('');
}

/** The height of a polyline over a place; null beyond its ends. */
export function heightAt(xs: Num[], ys: Num[], x: number): number | null {
  for (let i = 1; i < xs.length; i++) {
    const [a, b, ya, yb] = [xs[i - 1], xs[i], ys[i - 1], ys[i]];
    if (a === null || b === null || ya === null || yb === null || (x - a) * (x - b) > 0) continue;
    return a === b ? ya : ya + ((x - a) / (b - a)) * (yb - ya);
  }
  return null;
}

export function bandPath(xs: Num[], lo: Num[], hi: Num[], sx: Scale, sy: Scale): string {
  const fine = xs.map((_, i) => i).filter((i) => xs[i] !== null && lo[i] !== null && hi[i] !== null);
  const there = fine.map((i) => `${sx(xs[i]!).toFixed(1)},${sy(hi[i]!).toFixed(1)}`);
  const back = fine.reverse().map((i) => `${sx(xs[i]!).toFixed(1)},${sy(lo[i]!).toFixed(1)}`);
  return there.length ? `M${[...there, ...back].join('L')}Z` : '';
}

type Field = Extract<Layer, { kind: 'field' }>;

/** The level lines of a field. */
export function contourPaths(layer: Field, sx: Scale, sy: Scale): { d: string; level: number }[] {
  if (!layer.levels?.length || layer.hi <= layer.lo) return [];
  const found = bytes(layer.data);
  const values = Array.from(found, (byte) => layer.lo + fraction(byte, layer.signed) * (layer.hi - layer.lo));
  const make = contours().size([layer.nx, layer.ny]).smooth(true);
  const x = (u: number) => sx(layer.x0 + (u / layer.nx) * (layer.x1 - layer.x0));
  const y = (v: number) => sy(layer.y0 + (v / layer.ny) * (layer.y1 - layer.y0));
  return layer.levels.map((level) => {
    const d = make.contour(values, level).coordinates.flatMap((polygon) =>
      polygon.map((ring) => open(ring as [number, number][], layer.nx, layer.ny).map((run) =>
        `M${run.map(([u, v]) => `${x(u).toFixed(1)},${y(v).toFixed(1)}`).join('L')}`).join('')));
    return { d: d.join(''), level };
  });
}

/** A ring without the pieces that run along the edge of the grid. */
function open(ring: [number, number][], nx: number, ny: number): [number, number][][] {
  const edge = ([u, v]: [number, number]) => u <= 0.01 || v <= 0.01 || u >= nx - 0.01 || v >= ny - 0.01;
  const runs: [number, number][][] = [];
  let run: [number, number][] = [];
  ring.forEach((place, i) => {
    const along = i > 0 && edge(place) && edge(ring[i - 1]);
    if (along) {
      if (run.length > 1) runs.push(run);
      run = [];
    }
    run.push(place);
  });
  if (run.length > 1) runs.push(run);
  return runs.map((found) => straightened(straightened(found, edge, nx, ny).reverse(), edge, nx, ny));
}

/**
 * The run with its last piece in the direction of the piece before: values are known at the middles of
 * the cells, and between the outermost middles and the edge the contour would turn for no reason.
 */
function straightened(
  run: [number, number][], edge: (place: [number, number]) => boolean, nx: number, ny: number,
): [number, number][] {
  if (!edge(run.at(-1)!)) return run;
  const inner = ([u, v]: [number, number]) => u > 0.51 && u < nx - 0.51 && v > 0.51 && v < ny - 0.51;
  let end = run.length;
  while (end && !inner(run[end - 1])) end--;
  const kept = run.slice(0, end);
  const [a, b] = kept.slice(-2);
  if (!a || !b) return run;
  const [du, dv] = [b[0] - a[0], b[1] - a[1]];
  const steps = [du > 0 ? (nx - b[0]) / du : -b[0] / du, dv > 0 ? (ny - b[1]) / dv : -b[1] / dv];
  const far = Math.min(...steps.filter((t) => t > 0));
  return Number.isFinite(far) ? [...kept, [b[0] + far * du, b[1] + far * dv]] : run;
}
