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

type Gridded = Extract<Layer, { kind: 'regions' | 'field' | 'picture' }>;

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

/** One class after the other, as filled areas with smooth borders. */
function regions(pen: CanvasRenderingContext2D, layer: Gridded & { faint?: boolean }, sx: Scale, sy: Scale): void {
  const data = labels(layer.data, layer.nx * layer.ny);
  const x = (u: number) => sx(layer.x0 + ((u - 1) / layer.nx) * (layer.x1 - layer.x0));
  const y = (v: number) => sy(layer.y0 + ((v - 1) / layer.ny) * (layer.y1 - layer.y0));
  const make = contours().size([layer.nx + 2, layer.ny + 2]).smooth(true);
  const present = new Set(data);
  for (const c of present) {
    const [r, g, b] = rgb(`c${c % CLASSES}`);
    const shape = make.contour(padded(blurred(data, c, layer.nx, layer.ny), layer.nx, layer.ny), 0.5);
    pen.beginPath();
    for (const polygon of shape.coordinates)
      for (const ring of polygon)
        ring.forEach(([u, v], i) => (i ? pen.lineTo(x(u), y(v)) : pen.moveTo(x(u), y(v))));
    pen.fillStyle = `rgba(${r},${g},${b},${layer.faint ? 0.13 : 0.24})`;
    pen.fill('evenodd');
    pen.strokeStyle = `rgba(${r},${g},${b},0.55)`;
    pen.lineWidth = 0.8;
    pen.stroke();
  }
}

/** One more cell on every side, a copy of its neighbour: contours close outside the panel. */
function padded(values: Float32Array, nx: number, ny: number): number[] {
  const inside = (i: number, n: number) => Math.min(n - 1, Math.max(0, i - 1));
  const found = new Array<number>((nx + 2) * (ny + 2));
  for (let row = 0, i = 0; row < ny + 2; row++)
    for (let column = 0; column < nx + 2; column++, i++) found[i] = values[inside(row, ny) * nx + inside(column, nx)];
  return found;
}

/** Where a class lies, averaged over three by three cells, so that its border is no staircase. */
function blurred(data: Uint8Array, c: number, nx: number, ny: number): Float32Array {
  const own = Float32Array.from(data, (found) => (found === c ? 1 : 0));
  const along = new Float32Array(own.length);
  const both = new Float32Array(own.length);
  for (let row = 0, i = 0; row < ny; row++)
    for (let column = 0; column < nx; column++, i++)
      along[i] = (own[i] + own[column ? i - 1 : i] + own[column < nx - 1 ? i + 1 : i]) / 3;
  for (let row = 0, i = 0; row < ny; row++)
    for (let column = 0; column < nx; column++, i++)
      both[i] = (along[i] + along[row ? i - nx : i] + along[row < ny - 1 ? i + nx : i]) / 3;
  return both;
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
