// Milliseconds from a moved point (or a turned control) to the redrawn picture, for every made scene.
// kg book --no-browser --port 8123 & node e2e/latency.mjs http://127.0.0.1:8123/ CHROMIUM [PAGE/SCENE ...]
import { chromium } from 'playwright-core';
const [, , address, executablePath, ...only] = process.argv;
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const reply = (path) => fetch(`${address}api/${path}`).then((found) => found.json());
const slugs = (await reply('book')).pages.map(({ slug }) => slug);
const pages = await Promise.all(slugs.map((slug) => reply(`page/${slug}`)));
const made = pages.flatMap(({ slug, scenes }) => scenes.map(({ id }) => `${slug}/${id}`).filter((path) => !path.includes('/textbook_')));
for (const path of only.length ? only : made) {
  const page = await context.newPage();
  await page.goto(`${address}#/${path}`);
  await page.waitForSelector('[data-ready="yes"][aria-busy="false"]', { timeout: 60000 });
  const own = await page.locator('svg.own circle.own').count();
  const lat = [];
  if (own) {
    const point = page.locator('svg.own circle.own').first();
    const box = await point.boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y); await page.mouse.down();
    for (let i = 1; i <= 20; i++) {
      const fits = await page.locator('.scene').getAttribute('data-fits');
      await page.mouse.move(x + 2 * i, y + i);
      await page.waitForFunction((was) => document.querySelector('.scene').getAttribute('data-fits') !== was, fits, { timeout: 20000, polling: 10 });
      lat.push(Number(await page.locator('.scene').getAttribute('data-latency')));
    }
    await page.mouse.up();
  } else {
    const control = page.locator('.controls input[type=range]').first();
    for (let i = 1; i <= 10 && (await control.count()); i++) {
      const fits = await page.locator('.scene').getAttribute('data-fits');
      await control.press(i % 2 ? 'ArrowRight' : 'ArrowLeft');
      await page.waitForFunction((was) => document.querySelector('.scene').getAttribute('data-fits') !== was, fits, { timeout: 20000, polling: 10 });
      lat.push(Number(await page.locator('.scene').getAttribute('data-latency')));
    }
  }
  if (process.env.EACH) console.log(lat.join(" "));
  lat.sort((a, b) => a - b);
  console.log(path, own ? 'drag' : 'control', 'median', lat[Math.floor(lat.length / 2)], 'p95', lat[Math.ceil(lat.length * 0.95) - 1]);
  await page.close();
}
await browser.close();
