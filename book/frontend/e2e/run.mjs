// Opens the book in headless Chromium and writes what it saw as JSON; tests/book/test_browser.py judges it.
// node run.mjs ADDRESS EXPORTED_FOLDER EXPORTED_PAGE OUTPUT CHROMIUM [SCENE ...]
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [, , address, folder, single, output, executablePath, ...only] = process.argv;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const args = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync',
  '--disable-background-networking', '--disable-component-update',
];
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
const seen = { scenes: {}, axe: {}, drags: {}, bad: {}, keyboard: {}, exported: {}, tabs: {}, start: {}, motion: {}, print: {}, home: {} };

const clock = Date.now();
const mark = (name) => (seen.start[name] = Date.now() - clock);
const browser = await chromium.launch({ executablePath, args });

async function opened(context, url, problems) {
  const page = await context.newPage();
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(url);
  return page;
}
const ready = (page) => page.waitForSelector('[data-ready="yes"][aria-busy="false"]', { timeout: 60000 });
const alert = async (page) => ((await page.locator('[role="alert"]').count()) ? page.locator('[role="alert"]').first().textContent() : '');
/** Pixels by which the page is wider than the window, or a drawing than its panel. */
const overflow = (page) => page.evaluate(() => Math.max(
  document.documentElement.scrollWidth - document.documentElement.clientWidth,
  ...[...document.querySelectorAll('figure.panel')].map((one) => one.querySelector('.area').offsetWidth - one.offsetWidth),
));
/** What axe-core objects to. Code has a few colours and thousands of pieces: it is examined where `all` is. */
async function violations(page, { all = false, rules = null } = {}) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const found = await page.evaluate(
    ([whole, only]) => window.axe.run(
      { include: document, exclude: whole ? [] : ['pre'] },
      { resultTypes: ['violations'], ...(only ? { runOnly: only } : {}) },
    ),
    [all, rules],
  );
  return found.violations.map((v) => `${v.impact} ${v.id}: ${v.nodes[0].html.slice(0, 160)}`);
}
const turnTheme = (page) => page.evaluate(() => document.querySelector('.theme').click());

/** Every scene in one tab, played to its end on a clock of our own, with its numbers. */
async function everyScene(context, list) {
  let problems = [];
  const page = await opened(context, address, []);
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  await page.clock.install();
  for (const { slug, id, main } of list) {
    problems = [];
    try {
      await page.setViewportSize(DESKTOP);
      await page.evaluate((hash) => (location.hash = hash), `#/${slug}/${id}`);
      await page.waitForSelector(`[data-scene="${id}"][data-ready="yes"][aria-busy="false"]`, { timeout: 30000 });
      seen.scenes[id] = { ...(await played(page)), desktop: await overflow(page), problems };
      if (main) {
        seen.axe[id] = await violations(page);
        await turnTheme(page);
        seen.axe[`${id}, dark`] = await violations(page, { rules: ['color-contrast'] });
        await turnTheme(page);
      }
      await page.setViewportSize(PHONE);
      Object.assign(seen.scenes[id], { phone: await overflow(page), alert: await alert(page) });
    } catch (error) {
      seen.scenes[id] = { failed: String(error), problems };
    }
  }
  await page.close();
}

async function played(page) {
  const found = { frames: 1, at: 1, caption: await page.locator('.caption').count() };
  const play = page.getByRole('button', { name: 'Play' });
  if (await play.count()) {
    await play.click();
    await page.clock.runFor(60000);
    await play.waitFor();
    [found.at, found.frames] = (await page.locator('.transport .count').textContent()).split('/').map(Number);
  }
  found.values = await page.locator('.readouts dd').evaluateAll((cells) => cells.map((cell) => JSON.parse(cell.dataset.value)));
  found.names = await page.locator('.readouts dt').allTextContents();
  return found;
}

/** Drag the first point inside the picture and wait for each fit: milliseconds from move to redraw. */
async function drag(context, slug, id, moves) {
  const page = await opened(context, `${address}#/${slug}/${id}`, []);
  await ready(page);
  const before = Number(await page.locator('.scene').getAttribute('data-fits'));
  const point = page.locator('svg.own circle.own').first();
  const box = await point.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const latencies = [];
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let i = 1; i <= moves; i++) {
    const fits = await page.locator('.scene').getAttribute('data-fits');
    await page.mouse.move(x + 2 * i * (x > 600 ? -1 : 1), y + i);
    await page.waitForFunction((was) => document.querySelector('.scene').getAttribute('data-fits') !== was, fits, { timeout: 20000 });
    latencies.push(Number(await page.locator('.scene').getAttribute('data-latency')));
  }
  await page.mouse.up();
  const after = Number(await page.locator('.scene').getAttribute('data-fits'));
  await page.waitForFunction(() => location.hash.includes('d='), null, { timeout: 5000 }).catch(() => {}); // it follows when the pointer rests
  seen.drags[id] = { fits: after - before, latencies, edited: page.url().includes('d='), alert: await alert(page) };
  await page.close();
}

/** Every control can be reached with Tab alone. */
async function keyboard(context, path) {
  const page = await opened(context, `${address}#/${path}`, []);
  await ready(page);
  const wanted = await page.evaluate(() => {
    const all = [...document.querySelectorAll('a[href], button:not(:disabled), input, select, summary, [tabindex="0"]')];
    const shown = all.filter((one) => one.checkVisibility());
    shown.forEach((one, i) => one.setAttribute('data-key', String(i)));
    return shown.length;
  });
  const reached = new Set();
  for (let i = 0; i < wanted + 5; i++) {
    await page.keyboard.press('Tab');
    const key = await page.evaluate(() => document.activeElement?.getAttribute('data-key'));
    if (key !== null && key !== undefined) reached.add(key);
  }
  const missed = await page.evaluate((keys) => [...document.querySelectorAll('[data-key]')].filter((one) => !keys.includes(one.getAttribute('data-key'))).map((one) => one.outerHTML.slice(0, 120)), [...reached]);
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press('Home');
  const first = await page.locator('.transport .count').textContent();
  await page.keyboard.press('ArrowRight');
  const second = await page.locator('.transport .count').textContent();
  const plot = page.locator('svg.own').first();
  await plot.focus();
  await page.keyboard.press('n');
  await page.keyboard.press('ArrowUp');
  await page.waitForFunction(() => location.hash.includes('d='));
  seen.keyboard[path] = { wanted, missed, first, second };
  await page.close();
}

/** What a page says to input it cannot use, and what is left of the points. */
async function badInput(context) {
  const problems = [];
  const page = await opened(context, `${address}#/svm/svm`, problems);
  await ready(page);
  const many = Array.from({ length: 1200 }, (_, i) => `${i / 1200},0,${i % 2}`).join('\n');
  const files = { 'no table': 'Dear reader,\nthis is a letter.\n', 'NaN': '1,2,0\nnan,3,1\n', 'too many': many, 'one point': '0.5,0.5,0\n', 'one class': '1,1,0\n2,2,0\n0,1,0\n', empty: '' };
  for (const [name, text] of Object.entries(files)) {
    await page.locator('input[type=file]').setInputFiles({ name: 'points.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await page.waitForFunction(() => document.querySelector('[role="alert"]')?.textContent);
    seen.bad[name] = { alert: await alert(page), circles: await page.locator('circle.own').count() };
    const undo = page.getByRole('button', { name: 'Undo' });
    if (await undo.count()) {
      await undo.click();
      await page.waitForFunction(() => !document.querySelector('[role="alert"]'));
      seen.bad[name].circles = await page.locator('circle.own').count();
    }
    await page.getByRole('button', { name: 'Reset the scene' }).click();
    await page.waitForFunction(() => !document.querySelector('[role="alert"]') && document.querySelector('.scene').getAttribute('aria-busy') === 'false');
  }
  await page.route('**/api/**', (route) => route.abort());
  await page.locator('input[type=range]').nth(1).press('ArrowRight');
  await page.waitForFunction(() => document.querySelector('[role="alert"]')?.textContent);
  seen.bad['server stopped'] = { alert: await alert(page), circles: await page.locator('circle.own').count() };
  await page.unroute('**/api/**');
  await page.locator('input[type=range]').nth(1).press('ArrowRight');
  await page.waitForFunction(() => !document.querySelector('[role="alert"]'));
  await page.close();
  for (const [name, path] of Object.entries({ 'out of range': 'svm/svm?C=-5', 'no such page': 'nothing', 'no number': 'clusters/kmeans?k=many' })) {
    const other = await opened(context, `${address}#/${path}`, []);
    await other.waitForSelector('[role="alert"]');
    seen.bad[name] = { alert: await alert(other) };
    await other.close();
  }
}

/** Marks glide to the next step, unless the reader prefers less motion. */
async function motion() {
  for (const reducedMotion of ['no-preference', 'reduce']) {
    const context = await browser.newContext({ viewport: DESKTOP, reducedMotion });
    const page = await opened(context, `${address}#/clusters/kmeans`, []);
    await ready(page);
    await page.getByRole('button', { name: 'Previous step' }).click();
    seen.motion[reducedMotion] = await page.evaluate(() => {
      const group = document.querySelector('svg .gliding');
      return group ? getComputedStyle(group.querySelector('circle')).transitionDuration : 'at once';
    });
    await context.close();
  }
}

/** On paper: white in either theme, without the contents and what cannot be pressed there. */
async function print() {
  const context = await browser.newContext({ viewport: DESKTOP, colorScheme: 'dark' });
  const page = await opened(context, `${address}#/svm/svm?printed=true`, []);
  await ready(page);
  seen.print.misprint = await page.locator('.misprint').textContent();
  await page.emulateMedia({ media: 'print' });
  seen.print.hidden = await page.evaluate(() => ['nav.side', '.transport .row', '.tools', '.controls'].filter((one) => document.querySelector(one)?.checkVisibility()));
  seen.print.paper = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  await page.setViewportSize({ width: 700, height: 990 });
  seen.print.overflow = await overflow(page);
  await context.close();
}

/** Two tabs at once, each with its own fits. */
async function tabs(context) {
  const pages = await Promise.all(['clusters/kmeans?k=2', 'clusters/kmeans?k=5'].map((path) => opened(context, `${address}#/${path}`, [])));
  for (const page of pages) await ready(page);
  seen.tabs = await Promise.all(pages.map((page) => page.locator('.readouts dd').evaluateAll((cells) => cells.map((cell) => JSON.parse(cell.dataset.value)))));
  await Promise.all(pages.map((page) => page.close()));
}

/** Files open without a server and without a network. */
async function exported() {
  const context = await browser.newContext({ viewport: DESKTOP });
  await context.setOffline(true);
  for (const [name, url] of Object.entries({ folder: `${pathToFileURL(folder)}#/centroids`, home: `${pathToFileURL(folder)}#/`, page: `${pathToFileURL(single)}`, embed: `${pathToFileURL(single)}?embed=1` })) {
    const problems = [];
    const requests = [];
    const page = await context.newPage();
    page.on('request', (request) => !request.url().startsWith('file:') && !request.url().startsWith('data:') && requests.push(request.url()));
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(url);
    await (name === 'home' ? page.waitForSelector('h1') : ready(page));
    if (name === 'home') await page.waitForSelector('[data-thumbnail="yes"]');
    else {
      await page.keyboard.press('Home');
      for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight');
    }
    const step = name === 'home' ? '' : await page.locator('.transport .count').textContent();
    await page.setViewportSize(PHONE);
    seen.exported[name] = { problems, requests, step, phone: await overflow(page), headings: await page.locator('h1').count(), alert: await alert(page) };
    await page.setViewportSize(DESKTOP);
    await page.close();
  }
  await context.close();
}

const context = await browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce' });
try {
  const began = Date.now();
  const first = await opened(context, address, []);
  await first.waitForSelector('h1');
  seen.start.first = Date.now() - began;
  await first.waitForSelector('[data-thumbnail="yes"]');
  seen.axe.home = await violations(first);
  await turnTheme(first);
  seen.axe['home, dark'] = await violations(first, { rules: ['color-contrast'] });
  await turnTheme(first);
  await first.waitForFunction(() => !document.querySelector('[data-thumbnail="no"]'), null, { timeout: 60000 });
  await first.setViewportSize(PHONE);
  seen.home = { pictures: await first.locator('.thumbnail').count(), phone: await overflow(first) };
  await first.setViewportSize(DESKTOP);
  const book = await first.evaluate(async () => {
    const get = (path) => fetch(`api/${path}`).then((reply) => reply.json());
    return Promise.all((await get('book')).pages.map(({ slug }) => get(`page/${slug}`)));
  });
  await first.goto(`${address}#/choose`);
  await first.waitForSelector('.answer');
  seen.axe.choose = await violations(first);
  await first.close();
  const all = book.flatMap((page) => page.scenes.map(({ id }, i) => ({ slug: page.slug, id, main: i === 0 })));
  await everyScene(context, all.filter(({ id }) => !only.length || only.includes(id)));
  mark('scenes');
  const dark = await browser.newContext({ viewport: DESKTOP, colorScheme: 'dark' });
  const evening = await opened(dark, `${address}#/svm/svm`, []);
  await ready(evening);
  seen.axe.dark = await violations(evening, { all: true });
  await dark.close();
  for (const [slug, id] of [['svm', 'svm'], ['gaussian_process', 'gaussian_process'], ['clusters', 'kmeans'], ['svm', 'textbook_svm'], ['sparse', 'lasso'], ['cca', 'cca'], ['factors', 'nmf'], ['manifolds', 'manifolds']]) await drag(context, slug, id, 3);
  await keyboard(context, 'clusters/kmeans');
  mark('keyboard');
  await badInput(context);
  mark('badInput');
  await tabs(context);
  mark('tabs');
  await motion();
  await print();
  mark('print');
  if (folder) await exported();
} catch (error) {
  seen.failed = String(error.stack ?? error);
}
writeFileSync(output, JSON.stringify(seen));
await browser.close();
