/** The data the server sends; see recording.py, scene.py and content.py. */
export type Point = [number, number, number];
export type Num = number | null;

interface Grid { x0: number; x1: number; y0: number; y1: number; nx: number; ny: number; data: string }
export type Layer =
  | ({ kind: 'regions'; cuts: string; faint?: boolean } & Grid)
  | ({ kind: 'field'; lo: number; hi: number; levels: number[]; signed: boolean; strong?: number[]; colors?: string } & Grid)
  | ({ kind: 'picture'; lo: number; hi: number; colors?: string } & Grid)
  | { kind: 'points'; x: Num[]; y: Num[]; c?: number[]; r?: number | number[]; color?: string; shape?: string; label?: string }
  | { kind: 'line'; x: Num[]; y: Num[]; color?: string; width?: number; dash?: boolean; label?: string; faint?: boolean }
  | { kind: 'segments'; x1: Num[]; y1: Num[]; x2: Num[]; y2: Num[]; color?: string; width?: number; dash?: boolean }
  | { kind: 'band'; x: Num[]; lo: Num[]; hi: Num[]; color?: string }
  | { kind: 'bars'; x: Num[]; y: Num[]; w: number; color?: string; c?: number[] }
  | { kind: 'text'; x: number; y: number; text: string; anchor?: 'start' | 'middle' | 'end'; color?: string; size?: number; bold?: boolean }
  | { kind: 'ellipses'; shapes: number[][]; faint?: boolean; color?: string }
  | { kind: 'data'; c?: number[] | number; r?: number[] | number; ring?: number[]; color?: string };

export interface Panel {
  id: string; title: string; x: [number, number]; y: [number, number]; layers?: Layer[];
  x_label?: string; y_label?: string; editable?: boolean; equal?: boolean; axes?: boolean; small?: boolean;
  legend?: [string, string][]; describe?: string; whole?: boolean; mirrored?: boolean;
}
export interface Frame { step: string; caption?: string; layers: Record<string, Layer[]>; line?: number; readouts?: [string, unknown][]; python?: string }
export interface Recording {
  panels: Panel[]; frames: Frame[]; readouts: [string, unknown][]; notes: string[];
  python: string; code: string; start: number | null; points: Point[]; seconds: number; error?: string;
}
export type Value = string | number | boolean;
export interface Control {
  name: string; label: string; default: Value; kind: 'range' | 'choice' | 'switch'; lo: number; hi: number;
  step: number; log: boolean; choices: [Value, string][]; help: string; values?: Value[];
}
export interface Break { label: string; preset: string; controls: Record<string, Value> }
export interface Scene {
  id: string; page: string; title: string; lead: string; data: 'classes' | 'cloud' | 'curve' | 'rows' | 'none'; redraws: string[];
  question: string; answer: string; classes: number; names: string[]; presets: [string, string][];
  controls: Control[]; breaks: Break[];
}
export interface Textbook { key: string; title: string; sources: string[]; code: string }
export interface Erratum { id: string; text: string; where: string; printed: string; right: string; why: string }
export interface Page {
  slug: string; title: string; short: string; objective: string; derivation: [string, string][]; when: string; cost: string; limits: string;
  sources: string[]; names: { name: string; summary: string }[]; textbook: Textbook[];
  errata: Erratum[]; scenes: Scene[];
}
export interface Costs {
  rows: number[]; columns: number;
  methods: { name: string; costs: { seconds: number; bytes: number; fits: boolean; method: string }[] }[];
}
export interface Choice {
  question?: string; branches?: [string, Choice][];
  methods?: { title: string; name: string; page: string | null }[];
}
export interface Book {
  pages: { slug: string; title: string; short: string; family: string; idea: string; names: string[] }[];
  tours: { text: string; title: string; chapters: { label: string; pages: string[] }[] }[];
}
export interface Thumbnail { panel: Panel; layers: Layer[]; points: Point[]; data: string; error?: string }
export interface Request { scene: string; controls: Record<string, Value>; preset: string; points: Point[] | null }
