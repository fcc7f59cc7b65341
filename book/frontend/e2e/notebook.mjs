// Opens a host page that shows a widget as a notebook does; tests/book/test_widget.py judges what was seen.
// node notebook.mjs ADDRESS OUTPUT CHROMIUM [PICTURE]
import { writeFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [, , address, output, executablePath, picture] = process.argv;
const seen = { problems: [] };
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const host = await browser.newPage({ viewport: { width: 1280, height: 960 }, reducedMotion: 'reduce' });
host.on('console', (message) => message.type() === 'error' && seen.problems.push(message.text()));
host.on('pageerror', (error) => seen.problems.push(error.message));

const state = (page) => page.evaluate(() => ({
  scene: document.querySelector('.scene').dataset.scene,
  theme: document.documentElement.dataset.theme,
  preset: document.querySelector('.tools select')?.selectedOptions[0].textContent,
  circles: document.querySelectorAll('svg.own circle.own').length,
  values: [...document.querySelectorAll('.readouts dd')].map((cell) => JSON.parse(cell.dataset.value)),
  alert: document.querySelector('[role="alert"]')?.textContent ?? '',
}));
const fitted = (page) => page.waitForSelector('[data-ready="yes"][aria-busy="false"]', { timeout: 60000 });

try {
  await host.goto(address);
  const page = await (await host.waitForSelector('iframe')).contentFrame();
  await fitted(page);
  seen.first = await state(page);
  if (picture) await host.screenshot({ path: picture });
  const fits = await page.locator('.scene').getAttribute('data-fits');
  const box = await page.locator('svg.own circle.own').first().boundingBox();
  await host.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await host.mouse.down();
  await host.mouse.move(box.x + 60, box.y + 40, { steps: 4 });
  await host.mouse.up();
  await page.waitForFunction((was) => document.querySelector('.scene').dataset.fits !== was, fits);
  await fitted(page);
  seen.dragged = await state(page);
  await page.getByRole('button', { name: 'Reset the scene' }).click();
  await fitted(page);
  const tab = page.locator('nav.tabs a').nth(1);
  if (await tab.count()) {
    await tab.click();
    await page.waitForFunction((was) => (document.querySelector('.scene')?.dataset.scene ?? was) !== was, seen.first.scene);
    await fitted(page);
    seen.second = await state(page);
  }
  seen.address = host.url();
} catch (error) {
  seen.failed = String(error.stack ?? error);
}
writeFileSync(output, JSON.stringify(seen));
await browser.close();
