/** Fields, regions and pictures, painted on the canvas behind a panel. */
import { contours } from 'd3-contour';
import { CLASSES, rgb, scale, type Rgb } from './colors';
import type { Scale } from './paths';
import type { Layer } from './types';

const decoded = new Map<string, Uint8Array>();

/** The bytes of a base64 text; those of the last few hundred layers are kept. */
export function bytes(text: string): Uint8Array {
  const held = decoded.get(text);
  if (held) return held;
  const found = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  if (decoded.size > 300) decoded.clear();
  decoded.set(text, found);
  return found;
}

/** The class of every cell, from pairs of class and run length. */
function labels(text: string, count: number): Uint8Array {
  const held = decoded.get(`runs ${text}`);
  if (held) return held;
  const runs = bytes(text);
  const found = new Uint8Array(count);
  for (let i = 0, at = 0; i < runs.length; at += runs[i + 1], i += 2) found.fill(runs[i], at, at + runs[i + 1]);
  decoded.set(`runs ${text}`, found);
  return found;
}

/** A byte of a field as a fraction of its range; signed fields are sent as signed square roots. */
export function fraction(byte: number, signed: boolean): number {
  if (!signed) return byte / 255;
  const root = byte / 127.5 - 1;
  return 0.5 + 0.5 * root * Math.abs(root);
}

type Gridded = Extract<Layer, { kind: 'field' | 'picture' }>;
type Regions = Extract<Layer, { kind: 'regions' }>;

export function paint(
  canvas: HTMLCanvasElement, layers: Layer[], sx: Scale, sy: Scale, width: number, height: number,
): void {
  const dense = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(height * dense);
  const pen = canvas.getContext('2d')!;
  pen.scale(dense, dense);
  pen.fillStyle = `rgb(${rgb('plot').join(',')})`;
  pen.fillRect(0, 0, width, height);
  for (const layer of layers) {
    if (layer.kind === 'regions') regions(pen, layer, sx, sy);
    else if (layer.kind === 'field') {
      const shade = scale(layer.signed, layer.colors);
      smooth(pen, layer, sx, sy, (byte) => shade(Math.round(255 * fraction(byte, layer.signed))), true);
    }
    else if (layer.kind === 'picture') {
      const colors = layer.colors === 'signed' ? scale(true) : scale(false, layer.colors ?? 'grey');
      smooth(pen, layer, sx, sy, colors, false);
    }
  }
}

/** Where the borders cross the lines between neighbouring cells: along the rows, then up the columns. */
function cuts(layer: Regions, data: Uint8Array): { along: Float32Array; up: Float32Array } {
  const { nx, ny } = layer;
  const sent = bytes(layer.cuts);
  const [along, up] = [new Float32Array(nx * ny), new Float32Array(nx * ny)];
  let next = 0;
  for (let i = 0; i < nx * ny; i++) if ((i + 1) % nx && data[i] !== data[i + 1]) along[i] = sent[next++] / 255;
  for (let i = 0; i < nx * (ny - 1); i++) if (data[i] !== data[i + nx]) up[i] = sent[next++] / 255;
  return { along, up };
}

/** One class after the other, as filled areas whose borders lie where the classes change. */
function regions(pen: CanvasRenderingContext2D, layer: Regions, sx: Scale, sy: Scale): void {
  const { nx, ny } = layer;
  const data = labels(layer.data, nx * ny);
  const { along, up } = cuts(layer, data);
  const near = (i: number, n: number) => Math.min(n - 1, Math.max(0, i));
  const x = (u: number) => sx(layer.x0 + ((u - 1) / nx) * (layer.x1 - layer.x0));
  const y = (v: number) => sy(layer.y0 + ((v - 1) / ny) * (layer.y1 - layer.y0));
  // cells are numbered with one more on every side, a copy of its neighbour: areas close outside the panel
  const place = ([u, v]: number[]): [number, number] => {
    if (u % 1 === 0 && u > 1 && u <= nx) return [x(u - 0.5 + along[near(Math.floor(v) - 1, ny) * nx + u - 2]), y(v)];
    if (v % 1 === 0 && v > 1 && v <= ny) return [x(u), y(v - 0.5 + up[(v - 2) * nx + near(Math.floor(u) - 1, nx)])];
    return [x(u), y(v)];
  };
  const make = contours().size([nx + 2, ny + 2]).smooth(false);
  for (const c of new Set(data)) {
    const [r, g, b] = rgb(`c${c % CLASSES}`);
    pen.beginPath();
    for (const polygon of make.contour(padded(data, c, nx, ny), 0.5).coordinates)
      for (const ring of polygon)
        ring.forEach((corner, i) => (i ? pen.lineTo(...place(corner)) : pen.moveTo(...place(corner))));
    pen.fillStyle = `rgba(${r},${g},${b},${layer.faint ? 0.13 : 0.24})`;
    pen.fill('evenodd');
    pen.strokeStyle = `rgba(${r},${g},${b},0.55)`;
    pen.lineWidth = 0.8;
    pen.stroke();
  }
}

/** The cells of a class, with one more on every side that is a copy of its neighbour. */
function padded(data: Uint8Array, c: number, nx: number, ny: number): number[] {
  const inside = (i: number, n: number) => Math.min(n - 1, Math.max(0, i - 1));
  const found = new Array<number>((nx + 2) * (ny + 2));
  for (let row = 0, i = 0; row < ny + 2; row++)
    for (let column = 0; column < nx + 2; column++, i++)
      found[i] = data[inside(row, ny) * nx + inside(column, nx)] === c ? 1 : 0;
  return found;
}

function smooth(
  pen: CanvasRenderingContext2D, layer: Gridded, sx: Scale, sy: Scale, color: (byte: number) => Rgb, blend: boolean,
): void {
  const data = bytes(layer.data);
  const small = document.createElement('canvas');
  [small.width, small.height] = [layer.nx, layer.ny];
  const image = new ImageData(layer.nx, layer.ny);
  for (let row = 0; row < layer.ny; row++)
    for (let column = 0; column < layer.nx; column++) {
      // fields begin at the bottom, pictures on top
      const from = blend ? (layer.ny - 1 - row) * layer.nx + column : row * layer.nx + column;
      const at = 4 * (row * layer.nx + column);
      const [r, g, b] = color(data[from]);
      image.data.set([r, g, b, 255], at);
    }
  small.getContext('2d')!.putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = blend;
  pen.imageSmoothingQuality = 'high';
  const [left, right, top, bottom] = [sx(layer.x0), sx(layer.x1), sy(layer.y1), sy(layer.y0)];
  pen.drawImage(small, left, top, right - left, bottom - top);
}
