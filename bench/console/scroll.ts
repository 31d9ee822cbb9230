import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startConsole } from '@warder/console/testing'
import { openSqlite } from '@warder/storage'
import { seedInventory } from '../kms/seed-inventory.ts'

/**
 * Measures the room of keys with many rows in Chromium: what a page of 100 keys costs the main thread when few and when
 * many are loaded, and what a frame costs when the table scrolls by ten rows a frame.
 *
 * Run: `node bench/console/scroll.ts [--keys 100000] [--frames 600]`. Requires Chromium.
 */
const { values } = parseArgs({
  options: { keys: { type: 'string', default: '100000' }, frames: { type: 'string', default: '600' } },
})
const keys = Number(values.keys)
const frames = Number(values.frames)
const print = (line: string): void => void process.stdout.write(`${line}\n`)

await using started = await startConsole()
const { installation } = started
const db = openSqlite({ path: join(installation.home, 'kms.db') })
await seedInventory(db, { keys, owner: "'admin'", now: Date.now() })
await db.close()

await using opened = await started.open()
const { page, context } = opened
await opened.logInAtKms('/ui/keys', '_', 'admin', installation.password)
await page.getByRole('region', { name: 'Keys' }).waitFor()
const devtools = await context.newCDPSession(page)
// Processor time, which other programs on the machine change less than the time that passes.
await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })

/** Seconds of the main thread so far: all tasks, and of them scripts, styles and layout. */
async function readMetrics(): Promise<Readonly<Record<string, number>>> {
  const { metrics } = await devtools.send('Performance.getMetrics')
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]))
}

async function measureTask<R>(run: () => Promise<R>): Promise<{ readonly result: R; readonly cost: Cost }> {
  const before = await readMetrics()
  const result = await run()
  const after = await readMetrics()
  const spent = (name: string): number => 1000 * ((after[name] ?? 0) - (before[name] ?? 0))
  const cost = {
    task: spent('TaskDuration'),
    script: spent('ScriptDuration'),
    style: spent('RecalcStyleDuration'),
    layout: spent('LayoutDuration'),
  }
  return { result, cost }
}
interface Cost {
  readonly task: number
  readonly script: number
  readonly style: number
  readonly layout: number
}
const perEach = (cost: Cost, count: number): string =>
  Object.entries(cost)
    .map(([name, ms]) => `${name} ${(ms / count).toFixed(2)}`)
    .join(', ')

/** Goes to the end of the table, as often as rows are loaded there, until so many are loaded. */
const loadUntil = (rows: number): Promise<unknown> =>
  page.evaluate(`new Promise((resolve) => {
    const region = document.querySelector('.table-scroll')
    const step = () => {
      const loaded = Number(document.querySelector('.table-foot [role=status]').textContent.replace(/\\D+/g, ''))
      if (loaded >= ${rows}) return resolve(loaded)
      region.scrollTop = region.scrollHeight
      requestAnimationFrame(step)
    }
    step()
  })`)

const parts = 10
for (let part = 1; part <= parts; part += 1) {
  const began = performance.now()
  const { cost } = await measureTask(() => loadUntil(Math.floor((keys * part) / parts)))
  if (part === 1 || part === parts || part === parts / 2)
    print(
      `rows up to ${Math.floor((keys * part) / parts)}: ms of the main thread for a page of 100: ` +
        `${perEach(cost, keys / parts / 100)} (${(performance.now() - began).toFixed(0)} ms in all)`,
    )
}

/** Times between frames, in ms, while the table scrolls. */
const scroll = (pixels: number): Promise<readonly number[]> =>
  page.evaluate(`new Promise((resolve) => {
    const region = document.querySelector('.table-scroll')
    const times = []
    let last
    const step = (now) => {
      if (last !== undefined) times.push(now - last)
      last = now
      if (times.length >= ${frames}) return resolve(times)
      region.scrollTop += ${pixels}
      requestAnimationFrame(step)
    }
    region.scrollTop = region.scrollHeight / 4
    requestAnimationFrame(step)
  })`)

for (const [name, pixels] of [
  ['one row', 40],
  ['ten rows', 400],
  ['a hundred rows', 4000],
] as const) {
  const { result, cost } = await measureTask(() => scroll(pixels))
  const sorted = result.toSorted((one, other) => one - other)
  const percentile = (share: number): string =>
    (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1)
  // One frame of 60 a second, and half of the next one.
  const dropped = result.filter((ms) => ms > 25).length
  print(
    `${name} a frame: frames p50 ${percentile(0.5)} ms, p95 ${percentile(0.95)} ms, ${dropped} of ${frames} late; ` +
      `ms of the main thread for a frame: ${perEach(cost, frames)}`,
  )
}
